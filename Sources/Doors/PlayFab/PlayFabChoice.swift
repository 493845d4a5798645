import Domain
import Gateway

/// Which purchase of a receipt ValidateIOSReceipt means: the one that the customer has just made.
///
/// An app receipt also lists what the customer had before: products that are bought once, and subscriptions. So the
/// purchase is the new one, which is nobody's yet. The client finishes its transaction after the answer, and a finished
/// consumable leaves the receipt for ever. So nothing is guessed: if several may be meant, the answer is 1097.
struct PlayFabChoice {
  /// The purchases of the receipt that the catalog has, the newest first.
  private let offered: [LocalPurchase]
  private let catalog: PlayFabCatalog
  private let price: PlayFabPrice
  /// Milliseconds since 1970.
  private let now: Int64

  init(_ purchases: [LocalPurchase], _ catalog: PlayFabCatalog, _ price: PlayFabPrice, now: Int64) {
    offered = Array(
      purchases.lazy.filter { catalog.offer(forProduct: $0.productId) != nil }.prefix(DoorRegistration.mostPurchases))
    self.catalog = catalog
    self.price = price
    self.now = now
  }

  /// Whether only the ledger can tell which one is new.
  var asksForOwners: Bool { offered.count > 1 }

  /// The purchases that may be meant.
  var keys: [PurchaseKey] { offered.map(\.key) }

  /// Chooses.
  ///
  /// - Parameter owned: those of ``keys`` that have an owner. A single purchase needs none.
  /// - Throws: 1178 if the catalog has no product of the receipt; 1097 if several purchases may be meant.
  func purchase(given owned: Set<PurchaseKey>) throws(PlayFabError) -> LocalPurchase {
    guard let newest = offered.first else { throw .noMatchingCatalogItem(catalog.version) }
    guard asksForOwners else { return newest }
    let new = offered.filter { !owned.contains($0.key) && !isOver($0) }
    switch new.count {
    // The client did not get an earlier answer, or validates again.
    case 0: return newest
    case 1: return new[0]
    default: break
    }
    // A subscription stays in the receipt, so nothing is lost if it waits for a restore.
    let others = new.filter { $0.expiresDate == nil }
    let isOfSubscription = new.contains { $0.expiresDate != nil && isPriced($0) == true }
    guard others.count == 1, isPriced(others[0]) ?? !isOfSubscription else { throw .multipleInAppItems }
    return others[0]
  }

  /// Whether the receipt itself says that the purchase gives nothing any more.
  private func isOver(_ purchase: LocalPurchase) -> Bool {
    purchase.cancellationDate != nil || purchase.expiresDate.map { $0 <= now } ?? false
  }

  /// Whether the request's price is that of the purchase; `nil` if the catalog does not tell.
  private func isPriced(_ purchase: LocalPurchase) -> Bool? {
    guard let known = catalog.offer(forProduct: purchase.productId)?.price, price.isIn(known.currency) else {
      return nil
    }
    return known.isPaid(by: price.amount, purchase.quantity ?? 1)
  }
}

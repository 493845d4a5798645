import Domain
import Gateway

/// What became of one purchase of a request, as PlayFab's contract sees it.
enum PlayFabVerdict: Equatable {
  /// The customer has it.
  case item(PlayFabItem)
  /// It is a consumable that the customer got before.
  case spent
  /// It is genuine, and gives nothing any more; the reason.
  case over(String)
  case refused(PlayFabError)

  /// Judges a purchase.
  ///
  /// - Parameters:
  ///   - state: what became of its job.
  ///   - purchase: the purchase as the ledger has it; `nil` if it has none.
  ///   - item: what the purchase gives the customer now.
  init(_ state: DoorResult.State, _ purchase: Purchase?, _ item: PlayFabItem?, _ catalog: PlayFabCatalog) {
    switch state {
    case .failed(let reason): self = .refused(.unavailable(reason))
    case .accepted:
      // The ledger may know it from before. But nobody can say yet whether a consumable is granted for the first time.
      self = item.map { $0.uses == nil ? .item($0) : .refused(.appleIsSilent) } ?? .refused(.appleIsSilent)
    case .finalized(let result):
      if let refusal = Self.refusal(result.code, purchase) {
        self = refusal
      } else if result.consumable?.isFirstGrant == false {
        self = .spent
      } else if let item {
        self = .item(item)
      } else if let purchase, catalog.offer(forProduct: purchase.deciding.productId) == nil {
        self = .refused(.noMatchingCatalogItem(catalog.version))
      } else {
        // The commit of another change came in between.
        self = .over("The purchase no longer gives anything.")
      }
    }
  }

  /// - Returns: `nil` for a result that grants access.
  private static func refusal(_ code: ResultCode, _ purchase: Purchase?) -> PlayFabVerdict? {
    switch code {
    case .purchaseSynchronized: nil
    case .receivedExpiredPurchase: .over("The subscription or the pass has ended.")
    case .purchaseRevoked: .over("Apple has taken the purchase back.")
    case .transactionIdNotFound: .refused(.invalidReceipt("Apple does not know the purchase."))
    case .verificationFailed: .refused(.invalidReceipt("Apple's data about the purchase is not signed as it must be."))
    case .appMismatch: .refused(.invalidBundleID("The purchase belongs to another app."))
    case .sandboxNotAllowed:
      .refused(.invalidEnvironment("The purchase is from Apple's sandbox, which the publisher does not allow here."))
    case .offerNotFound: .refused(.noMatchingCatalogItem(nil))
    case .purchaseOwnedByAnotherCustomer:
      .refused(
        purchase?.deciding.kind == .autoRenewable
          ? .subscriptionAlreadyTaken : .receiptAlreadyUsed("The purchase belongs to another customer."))
    case .ownershipNotProven: .refused(.notProven)
    case .familySharingNotAllowed: .over("A family member shares the purchase, and the offer does not allow that.")
    case .customerErased: .refused(.accountNotFound)
    // Every attempt failed, or a newer worker has a result that this code does not know.
    default: .refused(.appleIsSilent)
    }
  }
}

extension PlayFabVerdict {
  /// The answer of `ValidateIOSReceipt`: the item, or why there is none.
  func single() throws(PlayFabError) -> PlayFabItem {
    switch self {
    case .item(let item): return item
    case .spent: throw .receiptAlreadyUsed("The consumable was granted to the customer before.")
    case .over(let reason): throw .invalidReceipt(reason)
    case .refused(let error): throw error
    }
  }

  /// The answer of `RestoreIOSPurchases`: the items of all purchases that give something.
  ///
  /// If there are none, the most useful error says why. A receipt whose purchases are all over restores nothing, and
  /// that is no error.
  static func restored(_ verdicts: [PlayFabVerdict]) throws(PlayFabError) -> [PlayFabItem] {
    let items = verdicts.compactMap { if case .item(let item) = $0 { item } else { nil } }
    guard items.isEmpty else { return items }
    let errors = verdicts.compactMap { if case .refused(let error) = $0 { error } else { nil } }
    func rank(_ error: PlayFabError) -> Int { order.firstIndex(of: error.number) ?? order.count }
    guard let first = errors.min(by: { rank($0) < rank($1) }) else { return [] }
    throw first.number == PlayFabError.subscriptionAlreadyTaken.number
      ? .receiptAlreadyUsed("The purchase belongs to another customer.") : first
  }

  /// The numbers of errors, the most useful first: what passes, what is another's, what the publisher can change.
  private static let order: [Int64] = [
    PlayFabError.unavailable(""), .appleIsSilent, .receiptAlreadyUsed(""), .subscriptionAlreadyTaken, .accountNotFound,
    .notProven, .invalidEnvironment(""), .invalidBundleID(""), .noMatchingCatalogItem(nil), .invalidReceipt(""),
  ].map(\.number)
}

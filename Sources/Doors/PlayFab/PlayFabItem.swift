import Crypto
import Domain
import Formats

/// An item of a customer's inventory: a purchase that gives the customer an offer now.
struct PlayFabItem: Equatable {
  let offer: Offer
  /// Apple's product, which is the item in PlayFab's catalog.
  let productId: ProductId
  let instanceId: String
  /// Milliseconds since 1970, as is ``expiration``.
  let purchaseDate: Int64
  let expiration: Int64?
  /// How often a consumable can be used; `nil` for anything else.
  let uses: Int64?
  let quantity: Int64
  /// The price that Apple signed.
  let applePrice: PlayFabApplePrice?

  /// Shows a purchase.
  ///
  /// - Returns: `nil` if the purchase gives the customer nothing now, or is no customer's.
  init?(_ purchase: Purchase, of customerId: CustomerId, _ catalog: PlayFabCatalog, rules: AccessRules, now: Int64) {
    let access = Access.of(purchase, rules: rules, now: now)
    let facts = purchase.deciding
    guard access.isGranted, purchase.owner?.is(customerId) == true,
      let offer = catalog.offer(forProduct: facts.productId)
    else { return nil }
    self.offer = offer
    productId = facts.productId
    instanceId = Self.instanceId(purchase.key, facts.productId)
    purchaseDate = facts.originalPurchaseDate ?? facts.purchaseDate
    expiration = access.expiresAt
    quantity = Int64(facts.quantity ?? 1)
    uses = facts.kind == .consumable ? quantity : nil
    applePrice = PlayFabApplePrice(
      thousandths: facts.price, currency: facts.currency,
      offer: (facts.offerType, facts.offerIdentifier, facts.offerDiscountType))
  }

  /// Names the item for ever: the same purchase of the same product is the same item, however often it renews.
  static func instanceId(_ key: PurchaseKey, _ productId: ProductId) -> String {
    let parts = [String(key.publisherId), key.environment.text, key.originalTransactionId.text, productId.text]
    return Hex.encode(Array(SHA256.hash(Array(parts.lengthPrefixed.utf8)).prefix(8))).uppercased()
  }
}

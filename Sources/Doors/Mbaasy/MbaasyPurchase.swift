import Domain
import Formats

/// The In-App Purchase resource of Mbaasy's contract: what the ledger knows of a purchase, in the contract's words.
///
/// It depends on the purchase and on the publisher's file only, and not on the time. So it changes with news, and an
/// event tells each change.
struct MbaasyPurchase: Sendable, Equatable {
  var id: String
  var appFamilyId: String
  var factId: String
  var version: Int64
  var appIdentifier: BundleId
  var productId: ProductId
  var quantity: Int64
  /// `subscription`, `non_renewing_subscription`, `non_consumable` or `consumable`.
  var type: String
  /// `production` or `sandbox`.
  var environment: String
  /// Two letters.
  var countryCode: String?
  var currencyCode: CurrencyCode?
  /// The customer's id without the door's prefix; `nil` for a purchase that no user of the door owns.
  var userIdentifier: String?
  var identifierForVendor: String?
  /// `nil` if Apple has not said.
  var isAutoRenewing: Bool?
  var isInTrialPeriod: Bool
  /// Whether Apple still tries to charge for the renewal.
  var isInGracePeriod: Bool
  /// A JSON object.
  var metadata: [UInt8]?
  var entitlements: [String]
  // Times are milliseconds since 1970.
  var purchasedAt: Int64
  var currentPeriodStartAt: Int64?
  var currentPeriodEndAt: Int64?
  var cancellation: MbaasyCancellation?
  var createdAt: Int64?
  var updatedAt: Int64?
  var lastSyncedAt: Int64?
  /// Apple's id of the purchase.
  var uniqueIdentifier: String

  /// Maps a purchase.
  ///
  /// - Parameter policy: the door's, which names its users.
  init(_ purchase: Purchase, publisher: Publisher, policy: DoorPolicy) {
    let (key, deciding, renewal) = (purchase.key, purchase.deciding, purchase.presentRenewal)
    let isSubscription = deciding.kind == .autoRenewable
    id = MbaasyIdentifier.purchase(key)
    appFamilyId = MbaasyIdentifier.app(deciding.bundleId, of: key.publisherId)
    factId = MbaasyIdentifier.fact(key)
    version = purchase.version
    appIdentifier = deciding.bundleId
    productId = deciding.productId
    quantity = Int64(deciding.quantity ?? 1)
    type = Self.type(of: deciding.kind)
    environment = key.environment.text.lowercased()
    let given = purchase.attributes
    countryCode = given?.countryCode ?? deciding.storefront.flatMap(CountryCode.alpha2)
    currencyCode = deciding.currency
    userIdentifier = purchase.owner.flatMap { policy.user(of: $0.customerId) }
    identifierForVendor = given?.identifierForVendor
    isAutoRenewing = isSubscription ? renewal?.willRenew : false
    isInTrialPeriod = deciding.isTrial
    isInGracePeriod =
      isSubscription && deciding.revocationDate == nil
      && (renewal?.isInBillingRetry == true || renewal?.graceExpiresDate != nil)
    metadata = given?.metadata
    entitlements = Self.entitlements(of: deciding.productId, in: publisher.offers)
    let firstPurchase = purchase.transactions.values.map(\.purchaseDate).min()
    purchasedAt = deciding.originalPurchaseDate ?? firstPurchase ?? deciding.purchaseDate
    currentPeriodStartAt = isSubscription ? deciding.purchaseDate : nil
    // Access that Apple has not confirmed ends of itself, or when it is withdrawn, and the contract has no other word
    // for it. Apple's answer brings the true end.
    let paidUntil = isSubscription ? deciding.expiresDate : nil
    currentPeriodEndAt = purchase.provisionalUntil.map { min($0, paidUntil ?? .max) } ?? paidUntil
    cancellation = .of(purchase)
    (createdAt, updatedAt) = (purchase.createdAt, purchase.updatedAt)
    lastSyncedAt =
      purchase.provisionalUntil == nil ? max(deciding.signedDate, purchase.renewal?.signedDate ?? .min) : nil
    uniqueIdentifier = key.originalTransactionId.text
  }

  /// The purchase without anything that only its owner may know. The country is Apple's, not the one that the owner's
  /// app gave.
  static func withoutOwner(_ purchase: Purchase, publisher: Publisher) -> MbaasyPurchase {
    var purchase = purchase
    (purchase.owner, purchase.attributes) = (nil, nil)
    return MbaasyPurchase(purchase, publisher: publisher, policy: DoorPolicy())
  }

  private static func type(of kind: ProductKind) -> String {
    switch kind {
    case .autoRenewable: "subscription"
    case .nonRenewing: "non_renewing_subscription"
    case .nonConsumable: "non_consumable"
    case .consumable: "consumable"
    }
  }

  /// The tags of the product's offer, or its id if it has no tags.
  private static func entitlements(of productId: ProductId, in offers: OfferCatalog) -> [String] {
    guard let offer = offers.offer(forProduct: productId) else { return [] }
    return offer.tags.isEmpty ? [offer.id.text] : offer.tags
  }
}

import Formats
public import JSON

/// A purchase as JSON, for answers and events: what Apple says about its deciding transaction, its owner, and the
/// access that it gives at a time. The members stand in the order of their names.
public struct PurchaseDocument {
  private let purchase: Purchase
  private let publisher: Publisher
  private let access: Access?
  /// Whether the members are left out that change although nothing visible does.
  private let isBare: Bool
  private let transactionId: TransactionId

  /// Creates a document.
  ///
  /// - Parameters:
  ///   - isBare: leaves out `signedDate` and `version`, which grow although nothing else changes.
  ///   - name: the id to write for the deciding transaction; `nil` writes its own.
  ///   - now: milliseconds since 1970.
  public init(
    _ purchase: Purchase, _ publisher: Publisher, isBare: Bool = false, named name: TransactionId? = nil, now: Int64
  ) {
    self.purchase = purchase
    self.publisher = publisher
    self.isBare = isBare
    transactionId = name ?? purchase.deciding.transactionId
    access = purchase.owner.map { Access.of(purchase, rules: publisher.accessRules(for: $0), now: now) }
  }

  /// Writes the members.
  ///
  /// - Parameters:
  ///   - ownerships: writes the member `ownerships`, for an answer that has it.
  ///   - transactions: the same for `transactions`.
  public func write(
    to writer: inout JSONWriter, ownerships: (inout JSONWriter) -> Void = { _ in },
    transactions: (inout JSONWriter) -> Void = { _ in }
  ) {
    let (deciding, renewal, owner) = (purchase.deciding, purchase.renewal, purchase.owner)
    if let access { writer.member("access") { Self.write(access, to: &$0) } }
    writer.member("appAccountToken", deciding.appAccountToken)
    writer.member("bundleId", deciding.bundleId)
    writer.member("cleengCustomerId", owner?.customerId.number)
    writer.member("currency", deciding.currency)
    writer.member("customerId", owner?.customerId)
    writer.time("effectiveAt", nextOffer == nil ? nil : deciding.expiresDate)
    writer.member("environment", purchase.key.environment)
    writer.member("expirationIntent", renewal?.expirationIntent.map(Int64.init))
    writer.time("expiresDate", deciding.expiresDate)
    writer.time("gracePeriodExpiresDate", renewal?.graceExpiresDate)
    writer.member("isInBillingRetry", renewal?.isInBillingRetry)
    writer.member("isUpgraded", deciding.isUpgraded)
    writer.member("nextOfferId", nextOffer)
    writer.member("nextProductId", renewal?.nextProductId)
    writer.member("offerId", publisher.offers.offer(forProduct: deciding.productId)?.id)
    writer.member("originalTransactionId", purchase.key.originalTransactionId)
    writer.member("ownershipType", deciding.ownershipType)
    ownerships(&writer)
    writer.member("price", deciding.price)
    writer.member("productId", deciding.productId)
    writer.time("purchaseDate", deciding.purchaseDate)
    writer.member("quantity", deciding.quantity.map(Int64.init))
    writer.time("revocationDate", deciding.revocationDate)
    writer.member("revocationPercentage", deciding.revocationPercentage.map(Int64.init))
    writer.member("revocationType", deciding.revocationType)
    if !isBare { writer.time("signedDate", deciding.signedDate) }
    writer.member("subscriptionId", owner?.subscriptionId)
    writer.member("transactionId", transactionId)
    transactions(&writer)
    writer.member("type", deciding.kind.rawValue)
    if !isBare { writer.member("version", purchase.version) }
    writer.member("willRenew", renewal?.willRenew)
  }

  /// The offer of the next period, if the customer has chosen another one.
  private var nextOffer: OfferId? {
    guard let next = purchase.presentRenewal?.nextProductId, next != purchase.deciding.productId else {
      return nil
    }
    return publisher.offers.offer(forProduct: next)?.id
  }

  private static func write(_ access: Access, to writer: inout JSONWriter) {
    writer.member("accessGranted", access.isGranted)
    writer.member("billingProblem", access.billingProblem)
    writer.time("expiresAt", access.expiresAt)
    writer.member("offerId", access.offerId)
    writer.member("rule", access.rule.rawValue)
    writer.member("willRenew", access.willRenew)
  }
}

extension JSONWriter {
  /// Writes a time as RFC 3339; `nil` leaves the member out.
  ///
  /// - Parameter milliseconds: since 1970.
  public mutating func time(_ name: StaticString, _ milliseconds: Int64?) {
    member(name, milliseconds.map(rfc3339(milliseconds:)))
  }
}

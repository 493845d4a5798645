import Domain
import Formats
import JSON
import Postgres

/// The columns of `purchases`, read and written.
enum PurchaseRow {
  /// The names that ``purchase(_:)`` reads, in its order.
  private static let names = [
    "publisher_id", "environment", "original_transaction_id", "customer_id", "subscription_id", "version", "bundle_id",
    "product_id", "kind", "transaction_id", "purchase_date", "expires_date", "revocation_date", "is_upgraded",
    "ownership_type", "quantity", "price", "currency", "app_account_token", "signed_date", "payload_sha256",
    "renewal_signed_date", "renewal_sha256", "will_renew", "next_product_id", "grace_expires_date",
    "is_in_billing_retry", "expiration_intent", "status", "status_date", "original_purchase_date", "offer_type",
    "offer_identifier", "offer_discount_type", "storefront", "price_increase_status", "attributes",
    "provisional_until", "revocation_type", "revocation_percentage", "previous_original_transaction_id",
    "recheck_at", "had_owner",
  ]
  /// The columns that are only read; PostgreSQL writes them.
  private static let times = ["created_at", "updated_at"]

  /// The number of the names.
  static let width = names.count + times.count

  /// The columns of a row of `table`.
  static func columns(_ table: String) -> String { (names + times).map { "\(table).\($0)" }.joined(separator: ", ") }

  /// Reads a purchase.
  ///
  /// - Parameter others: its transactions; they know more than the purchase's row. Without them the purchase has its
  ///   deciding transaction only, which is enough to decide about access.
  static func purchase(_ row: PostgresRow, _ others: [TransactionFacts] = []) throws -> Purchase {
    guard let publisher = row.int64(0), let environment = row.text(1), let original = row.text(2),
      let version = row.int64(5), let bundle = row.text(6), let product = row.text(7),
      let kind = row.text(8).flatMap(ProductKind.init(rawValue:)), let transaction = row.text(9),
      let purchaseDate = row.time(10),
      let isUpgraded = row.bool(13), let signedDate = row.time(19), let hash = row.bytes(20)
    else { throw UnreadableRecord("purchase \(row.text(2) ?? "")") }
    let facts = TransactionFacts(
      transactionId: transaction, originalTransactionId: original, bundleId: bundle, productId: product, kind: kind,
      environment: environment, purchaseDate: purchaseDate, originalPurchaseDate: row.time(30),
      expiresDate: row.time(11),
      revocationDate: row.time(12), revocationType: row.text(38), revocationPercentage: row.int32(39),
      isUpgraded: isUpgraded, ownershipType: row.text(14), quantity: row.int32(15),
      price: row.int64(16),
      currency: row.text(17), offerType: row.int32(31), offerIdentifier: row.text(32), offerDiscountType: row.text(33),
      storefront: row.text(34), appAccountToken: row.uuid(18),
      previousOriginalTransactionId: row.text(40), signedDate: signedDate, payloadSHA256: hash)
    var owner: Owner?
    if let customer = row.text(3), let subscription = row.int64(4) {
      owner = Owner(customerId: customer, subscriptionId: subscription)
    }
    var renewal: RenewalFacts?
    if let date = row.time(21), let hash = row.bytes(22) {
      renewal = RenewalFacts(
        originalTransactionId: original, environment: environment, willRenew: row.bool(23), nextProductId: row.text(24),
        graceExpiresDate: row.time(25), isInBillingRetry: row.bool(26), expirationIntent: row.int32(27),
        priceIncreaseStatus: row.int32(35), signedDate: date, payloadSHA256: hash)
    }
    var status: ReportedStatus?
    if let code = row.int32(28), let date = row.time(29) { status = ReportedStatus(code: code, date: date) }
    let key = PurchaseKey(publisherId: publisher, environment: environment, originalTransactionId: original)
    guard
      var purchase = Purchase(
        key, transactions: others + [facts], renewal: renewal, status: status, owner: owner, version: version)
    else { throw UnreadableRecord("purchase \(original)") }
    purchase.attributes = try row.bytes(36).map { try PurchaseAttributes(JSONText($0, limits: .own)) }
    purchase.provisionalUntil = row.time(37)
    (purchase.createdAt, purchase.updatedAt) = (row.time(43), row.time(44))
    // A worker of the version before writes an owner without `had_owner`.
    (purchase.recheckAt, purchase.hadOwner) = (row.time(41), row.bool(42) == true || purchase.owner != nil)
    return purchase
  }

  /// The key in a row of a purchase.
  static func key(_ row: PostgresRow) -> PurchaseKey {
    PurchaseKey(
      publisherId: row.int64(0) ?? 0, environment: row.text(1) ?? "", originalTransactionId: row.text(2) ?? "")
  }

  /// The columns of some purchases as arrays, in the order of ``names``, with the offers and the timers behind them.
  static func arrays(
    _ purchases: [Purchase], offers: [PurchaseKey: String], dueTimes: [PurchaseKey: Int64]
  ) -> [PostgresParameter] {
    let deciding = purchases.map(\.deciding)
    let renewals = purchases.map(\.renewal)
    return [
      .int64s(purchases.map(\.key.publisherId)), .texts(purchases.map(\.key.environment)),
      .texts(purchases.map(\.key.originalTransactionId)), .texts(purchases.map(\.owner?.customerId)),
      .int64s(purchases.map(\.owner?.subscriptionId)), .int64s(purchases.map(\.version)),
      .texts(deciding.map(\.bundleId)), .texts(deciding.map(\.productId)), .texts(deciding.map(\.kind.rawValue)),
      .texts(deciding.map(\.transactionId)), .times(deciding.map(\.purchaseDate)), .times(deciding.map(\.expiresDate)),
      .times(deciding.map(\.revocationDate)), .bools(deciding.map(\.isUpgraded)), .texts(deciding.map(\.ownershipType)),
      .int32s(deciding.map(\.quantity)), .int64s(deciding.map(\.price)), .texts(deciding.map(\.currency)),
      .uuids(deciding.map(\.appAccountToken)), .times(deciding.map(\.signedDate)),
      .bytes(deciding.map(\.payloadSHA256)), .times(renewals.map { $0?.signedDate }),
      .bytes(renewals.map { $0?.payloadSHA256 }), .bools(renewals.map { $0?.willRenew }),
      .texts(renewals.map { $0?.nextProductId }), .times(renewals.map { $0?.graceExpiresDate }),
      .bools(renewals.map { $0?.isInBillingRetry }), .int32s(renewals.map { $0?.expirationIntent }),
      .int32s(purchases.map { $0.status?.code }), .times(purchases.map { $0.status?.date }),
      .times(deciding.map(\.originalPurchaseDate)), .int32s(deciding.map(\.offerType)),
      .texts(deciding.map(\.offerIdentifier)), .texts(deciding.map(\.offerDiscountType)),
      .texts(deciding.map(\.storefront)), .int32s(renewals.map { $0?.priceIncreaseStatus }),
      .bytes(purchases.map { $0.attributes?.encoded }), .times(purchases.map(\.provisionalUntil)),
      .texts(deciding.map(\.revocationType)), .int32s(deciding.map(\.revocationPercentage)),
      .texts(deciding.map(\.previousOriginalTransactionId)),
      .times(purchases.map(\.recheckAt)), .bools(purchases.map(\.hadOwner)),
      .texts(purchases.map { offers[$0.key] }), .times(purchases.map { dueTimes[$0.key] }),
      .times(purchases.map { $0.updatedAt ?? 0 }),
    ]
  }

  private static let types = [
    "bigint", "text", "text", "text", "bigint", "bigint", "text", "text", "text", "text", "timestamptz", "timestamptz",
    "timestamptz", "boolean", "text", "integer", "bigint", "text", "uuid", "timestamptz", "bytea", "timestamptz",
    "bytea", "boolean", "text", "timestamptz", "boolean", "integer", "integer", "timestamptz", "timestamptz", "integer",
    "text", "text", "text", "integer", "bytea", "timestamptz", "text", "integer", "text",
    "timestamptz", "boolean", "text", "timestamptz", "timestamptz",
  ]
  private static let written = names + ["offer_id", "due_at", "updated_at"]

  /// The arrays as a table `n` with the columns' names.
  private static let source =
    "unnest(\(types.enumerated().map { "$\($0 + 1)::\($1)[]" }.joined(separator: ", "))) AS n "
    + "(\(written.joined(separator: ", ")))"

  /// Two workers may insert one purchase at the same time. The second one fails, and its batch runs again.
  static let insert = PostgresStatement(
    "insert purchases",
    "INSERT INTO purchases (\(written.joined(separator: ", "))) SELECT * FROM \(source)")

  /// The rows are locked.
  static let update = PostgresStatement(
    "update purchases",
    """
    UPDATE purchases p SET \(written[3...].map { "\($0) = n.\($0)" }.joined(separator: ", "))
    FROM \(source) WHERE p.publisher_id = n.publisher_id AND p.environment = n.environment
      AND p.original_transaction_id = n.original_transaction_id
    """)

  /// The parameters of ``look``.
  static func looks(_ purchases: [Purchase], dueTimes: [PurchaseKey: Int64]) -> [PostgresParameter] {
    let keys = purchases.map(\.key)
    return [
      .int64s(keys.map(\.publisherId)), .texts(keys.map(\.environment)), .texts(keys.map(\.originalTransactionId)),
      .times(keys.map { dueTimes[$0] }), .times(purchases.map(\.recheckAt)),
    ]
  }

  /// Sets the timers of purchases that did not change otherwise. The rows are locked.
  static let look = PostgresStatement(
    "set timers",
    """
    UPDATE purchases p SET due_at = n.due_at, recheck_at = n.recheck_at
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[])
      AS n (publisher_id, environment, original_transaction_id, due_at, recheck_at)
    WHERE p.publisher_id = n.publisher_id AND p.environment = n.environment
      AND p.original_transaction_id = n.original_transaction_id
    """)
}

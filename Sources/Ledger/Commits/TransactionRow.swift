import Domain
import Formats
import Postgres

/// The columns of `transactions`, read and written.
enum TransactionRow {
  private static let names = [
    "publisher_id", "environment", "transaction_id", "original_transaction_id", "signed_date", "payload_sha256",
    "bundle_id", "product_id", "kind", "purchase_date", "expires_date", "revocation_date", "revocation_reason",
    "is_upgraded", "ownership_type", "quantity", "price", "currency", "app_account_token", "original_purchase_date",
    "offer_type", "offer_identifier", "offer_discount_type", "storefront", "previous_original_transaction_id",
    "revocation_type", "revocation_percentage", "app_transaction_id", "web_order_line_item_id", "first_granted_at",
  ]

  /// The columns of a row of `table`.
  static func columns(_ table: String) -> String { names.map { "\(table).\($0)" }.joined(separator: ", ") }

  /// Reads the purchase that has the transaction, the facts, and the time of the first grant.
  static func facts(_ row: PostgresRow) throws -> (PurchaseKey, TransactionFacts, firstGrantedAt: Int64?) {
    guard let publisher = row.int64(0), let environment = row.text(1), let id = row.text(2),
      let original = row.text(3), let signedDate = row.time(4), let hash = row.bytes(5), let bundle = row.text(6),
      let product = row.text(7), let kind = row.text(8).flatMap(ProductKind.init(rawValue:)),
      let purchaseDate = row.time(9),
      let isUpgraded = row.bool(13)
    else { throw UnreadableRecord("transaction \(row.text(2) ?? "")") }
    let facts = TransactionFacts(
      transactionId: id, originalTransactionId: original, bundleId: bundle, productId: product, kind: kind,
      environment: environment, purchaseDate: purchaseDate, originalPurchaseDate: row.time(19),
      expiresDate: row.time(10), revocationDate: row.time(11),
      revocationReason: row.int32(12), revocationType: row.text(25), revocationPercentage: row.int32(26),
      isUpgraded: isUpgraded, ownershipType: row.text(14), quantity: row.int32(15),
      price: row.int64(16), currency: row.text(17), offerType: row.int32(20), offerIdentifier: row.text(21),
      offerDiscountType: row.text(22), storefront: row.text(23), appAccountToken: row.uuid(18),
      previousOriginalTransactionId: row.text(24), appTransactionId: row.text(27),
      webOrderLineItemId: row.text(28), signedDate: signedDate, payloadSHA256: hash)
    let key = PurchaseKey(publisherId: publisher, environment: environment, originalTransactionId: original)
    return (key, facts, row.time(29))
  }

  /// The columns of some transactions as arrays, in the order of ``names``.
  static func arrays(
    _ rows: [(key: PurchaseKey, facts: TransactionFacts, firstGrantedAt: Int64?)]
  ) -> [PostgresParameter] {
    let facts = rows.map(\.facts)
    return [
      .int64s(rows.map(\.key.publisherId)), .texts(rows.map(\.key.environment)), .texts(facts.map(\.transactionId)),
      .texts(facts.map(\.originalTransactionId)), .times(facts.map(\.signedDate)), .bytes(facts.map(\.payloadSHA256)),
      .texts(facts.map(\.bundleId)), .texts(facts.map(\.productId)), .texts(facts.map(\.kind.rawValue)),
      .times(facts.map(\.purchaseDate)), .times(facts.map(\.expiresDate)), .times(facts.map(\.revocationDate)),
      .int32s(facts.map(\.revocationReason)), .bools(facts.map(\.isUpgraded)), .texts(facts.map(\.ownershipType)),
      .int32s(facts.map(\.quantity)), .int64s(facts.map(\.price)), .texts(facts.map(\.currency)),
      .uuids(facts.map(\.appAccountToken)), .times(facts.map(\.originalPurchaseDate)),
      .int32s(facts.map(\.offerType)), .texts(facts.map(\.offerIdentifier)),
      .texts(facts.map(\.offerDiscountType)), .texts(facts.map(\.storefront)),
      .texts(facts.map(\.previousOriginalTransactionId)), .texts(facts.map(\.revocationType)),
      .int32s(facts.map(\.revocationPercentage)), .texts(facts.map(\.appTransactionId)),
      .texts(facts.map(\.webOrderLineItemId)),
      .times(rows.map(\.firstGrantedAt)),
    ]
  }

  private static let types = [
    "bigint", "text", "text", "text", "timestamptz", "bytea", "text", "text", "text", "timestamptz", "timestamptz",
    "timestamptz", "integer", "boolean", "text", "integer", "bigint", "text", "uuid", "timestamptz",
    "integer", "text", "text", "text", "text", "text", "integer", "text", "text", "timestamptz",
  ]

  /// The lock of the purchase guards its transactions. A first grant stays for ever.
  static let upsert = PostgresStatement(
    "upsert transactions",
    """
    INSERT INTO transactions AS t (\(names.joined(separator: ", ")))
    SELECT * FROM unnest(\(types.enumerated().map { "$\($0 + 1)::\($1)[]" }.joined(separator: ", ")))
    ON CONFLICT (publisher_id, transaction_id, environment) DO UPDATE SET
      \(names[3..<29].map { "\($0) = excluded.\($0)" }.joined(separator: ", ")),
      first_granted_at = coalesce(t.first_granted_at, excluded.first_granted_at)
    """)
}

import Postgres

extension RowDocument {
  static let exportedTransaction = TransactionRow.table.document(first: ["transactionId"])
  static let exportedOwner = OwnershipRow.table.document(
    first: ["customerId"], adding: [Column("customer_id", "customerId")])
  static let exportedEvidence = EvidenceRow.table.document()
}

extension PostgresStatement {
  /// Whether a row was written by a transaction, or one that got its number later. A row keeps the lower half of its
  /// transaction's number, which is enough for two billion transactions. What is older may seem new, and is written
  /// once more.
  static func isWritten(_ alias: String, since transaction: String) -> String {
    "((\(alias).xmin::text::bigint - \(transaction)::bigint) & 4294967295) < 2147483648"
  }

  /// Transactions that have not ended count as later, whatever their numbers are.
  static let exportMoment = PostgresStatement(
    "export moment",
    """
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS snapshot, statement_timestamp() AS at,
      (SELECT system_identifier FROM pg_control_system()) || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
        AS history
    """)

  static let erasedSince = PostgresStatement(
    "export erased",
    """
    SELECT EXISTS (
      SELECT FROM erased_customers e WHERE e.publisher_id = $1 AND \(isWritten("e", since: "$2"))) AS is_there
    """)

  private static let purchases = """
    unnest($1::bigint[], $2::text[], $3::text[]) AS n (publisher_id, environment, original_transaction_id)
    """
  private static let key = "environment AS key1, original_transaction_id AS key2"

  static let exportTransactions = PostgresStatement(
    "export transactions", isByKeys: true,
    """
    SELECT \(RowDocument.exportedTransaction.sql), \(key)
    FROM \(purchases) JOIN transactions t USING (publisher_id, environment, original_transaction_id)
    ORDER BY t.purchase_date, t.transaction_id
    """)

  static let exportOwners = PostgresStatement(
    "export owners", isByKeys: true,
    """
    SELECT \(RowDocument.exportedOwner.sql), \(key)
    FROM \(purchases) JOIN ownerships o USING (publisher_id, environment, original_transaction_id)
    ORDER BY o.began_at, o.subscription_id
    """)

  static let exportEvidence = PostgresStatement(
    "export evidence", isByKeys: true,
    """
    SELECT \(RowDocument.exportedEvidence.sql), \(key), e.payload, e.signature,
      convert_from(c.header, 'UTF8') AS header
    FROM \(purchases) JOIN evidence e USING (publisher_id, environment, original_transaction_id)
      LEFT JOIN certificate_chains c ON c.sha256 = e.header_sha256
    ORDER BY e.received_at, e.payload_sha256
    """)
}

extension SchemaStep {
  /// What the ledger needs to see that two transactions name one period, and that two pieces of evidence say the same.
  static let eight = SchemaStep(
    number: 8, name: "sameness",
    sql: """
      -- Apple's id of the payment for a period. Transactions from before get it when Apple signs them again.
      ALTER TABLE transactions ADD COLUMN web_order_line_item_id text COLLATE "C";

      -- SHA-256 of the payload without its date. Pieces from before have none, and stay.
      ALTER TABLE evidence ADD COLUMN content_sha256 bytea;
      """)
}

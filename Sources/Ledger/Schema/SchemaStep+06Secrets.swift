extension SchemaStep {
  /// What the ledger needs to keep the secrets of webhook endpoints encrypted.
  static let six = SchemaStep(
    number: 6, name: "secrets",
    sql: """
      -- The id of the key of ledger.keysFile under which `secrets` is encrypted. NULL: `secrets` is plain JSON, as rows
      -- from before have it, and `put_key` stands beside it.
      ALTER TABLE webhook_endpoints ADD COLUMN secrets_key text COLLATE "C";

      -- Every process asks from time to time which keys are in use.
      CREATE INDEX webhook_endpoints_key ON webhook_endpoints (secrets_key);
      """)
}

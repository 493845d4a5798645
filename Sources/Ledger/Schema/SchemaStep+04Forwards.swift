extension SchemaStep {
  /// What the ledger needs to pass notifications on, and to find the customers of those about a download of the app.
  static let four = SchemaStep(
    number: 4, name: "forwards",
    sql: """
      -- The body as Apple posted it, where it must be passed on and has another form than {"signedPayload":"…"}.
      ALTER TABLE notifications ADD COLUMN posted bytea;

      -- Base64 of what is hardly compressible: PostgreSQL would try in vain, for a third of its time.
      ALTER TABLE notifications ALTER COLUMN body SET STORAGE EXTERNAL;

      -- A sweep takes some of each publisher's.
      DROP INDEX notifications_due;
      CREATE INDEX notifications_due ON notifications (publisher_id, due_at) WHERE due_at IS NOT NULL;

      -- Apple's id of the download with which the customer bought. Transactions from before get it when Apple signs them
      -- again.
      ALTER TABLE transactions ADD COLUMN app_transaction_id text COLLATE "C";
      CREATE INDEX transactions_download ON transactions (publisher_id, environment, app_transaction_id)
        WHERE app_transaction_id IS NOT NULL;
      """)
}

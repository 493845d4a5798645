extension SchemaStep {
  /// What the ledger needs to put notifications aside that kill their workers.
  static let seven = SchemaStep(
    number: 7, name: "put-aside",
    sql: """
      -- Set together, and only while `applied_at` and `due_at` are NULL: no worker takes the notification. A person takes
      -- both back and sets `due_at`.
      ALTER TABLE notifications ADD COLUMN put_aside_at timestamptz, ADD COLUMN put_aside_reason text;

      -- Every worker counts them from time to time.
      CREATE INDEX notifications_put_aside ON notifications (put_aside_at) WHERE put_aside_at IS NOT NULL;
      """)
}

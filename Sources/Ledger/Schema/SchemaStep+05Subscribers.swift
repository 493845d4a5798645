extension SchemaStep {
  /// What the ledger needs to remember which subscriber misses which event.
  static let five = SchemaStep(
    number: 5, name: "subscribers",
    sql: """
      -- What a subscriber's queue has not taken. The fleet's own queue has it.
      CREATE TABLE owed_events (
        event_id text COLLATE "C" NOT NULL,
        subscriber text COLLATE "C" NOT NULL,
        owed_since timestamptz NOT NULL DEFAULT now(),
        due_at timestamptz NOT NULL,
        tries integer NOT NULL DEFAULT 1,
        cause text NOT NULL,
        PRIMARY KEY (event_id, subscriber)
      );
      CREATE INDEX owed_events_due ON owed_events (subscriber, due_at);
      CREATE INDEX owed_events_age ON owed_events (subscriber, owed_since);
      CREATE INDEX owed_events_oldest ON owed_events (owed_since);
      """)
}

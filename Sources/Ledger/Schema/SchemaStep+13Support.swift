extension SchemaStep {
  /// What support desks need: short lists for the console, and notes.
  static let thirteen = SchemaStep(
    number: 13, name: "support",
    sql: """
      -- The console lists the purchases that nobody owns. A renewal changes `due_at` too, which has an index already. So
      -- this one takes away no update within a page.
      CREATE INDEX purchases_unclaimed ON purchases
        (publisher_id, environment, purchase_date DESC, original_transaction_id DESC) WHERE customer_id IS NULL;

      -- The console lists a publisher's notifications by time. A row is written twice: when it comes, and when it is
      -- applied, which changes `due_at`, so every index has two entries of it. Those of this index come in the order of
      -- the time. They go to the publisher's last page, which is in memory, and cost some 60 bytes beside the 20 KB of
      -- a body.
      CREATE INDEX notifications_page ON notifications (publisher_id, received_at DESC, uuid DESC);

      -- What people at the console note about a customer.
      CREATE TABLE customer_notes (
        publisher_id bigint NOT NULL,
        customer_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        text text NOT NULL,
        person text COLLATE "C" NOT NULL,         -- who wrote it
        created_at timestamptz NOT NULL,
        PRIMARY KEY (publisher_id, customer_id, id)
      );
      """)
}

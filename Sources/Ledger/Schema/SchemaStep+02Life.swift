extension SchemaStep {
  /// What the ledger needs to follow purchases by itself.
  static let two = SchemaStep(
    number: 2, name: "life",
    sql: """
      -- When a purchase must be looked at again although nobody asks, and when it was looked at last.
      ALTER TABLE purchases ADD COLUMN due_at timestamptz, ADD COLUMN looked_at timestamptz,
        ADD COLUMN recheck_at timestamptz,                 -- evidence that may be wrong is confirmed then
        ADD COLUMN had_owner boolean NOT NULL DEFAULT false, -- a released purchase follows nobody by itself
        ADD COLUMN previous_original_transaction_id text COLLATE "C",
        ADD COLUMN revocation_type text COLLATE "C",
        ADD COLUMN revocation_percentage integer; -- thousandths of a percent
      CREATE INDEX purchases_due ON purchases (publisher_id, bundle_id, due_at) WHERE due_at IS NOT NULL;
      -- Purchases from before: their periods' ends, and a look within a month where nothing ends.
      UPDATE purchases SET due_at = CASE
          WHEN kind = 'Auto-Renewable Subscription' THEN coalesce(expires_date, purchase_date)
          ELSE now() + random() * interval '30 days' END
        WHERE revocation_date IS NULL AND kind <> 'Consumable'
          AND (expires_date IS NULL OR expires_date > now() - interval '60 days');

      -- Workers of the earlier version do not write the column: somebody looks at their purchases soon.
      ALTER TABLE purchases ALTER COLUMN due_at SET DEFAULT now() + interval '1 hour';
      UPDATE purchases p SET had_owner = true WHERE p.customer_id IS NOT NULL OR EXISTS (
        SELECT 1 FROM ownerships o WHERE o.publisher_id = p.publisher_id AND o.environment = p.environment
          AND o.original_transaction_id = p.original_transaction_id);

      ALTER TABLE transactions ADD COLUMN previous_original_transaction_id text COLLATE "C",
        ADD COLUMN revocation_type text COLLATE "C", ADD COLUMN revocation_percentage integer;
      CREATE INDEX transactions_successors ON transactions
        (publisher_id, environment, previous_original_transaction_id)
        WHERE previous_original_transaction_id IS NOT NULL;
      CREATE INDEX customers_token ON customers (publisher_id, app_account_token)
        WHERE app_account_token IS NOT NULL;

      -- What Apple posted, once for each publisher that has the app. The body is the text that Apple signed.
      CREATE TABLE notifications (
        publisher_id bigint NOT NULL,
        uuid text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        subtype text COLLATE "C",
        environment text COLLATE "C",
        bundle_id text COLLATE "C",
        original_transaction_id text COLLATE "C", -- null for those that are about no purchase
        signed_date timestamptz NOT NULL,
        received_at timestamptz NOT NULL DEFAULT now(),
        source text COLLATE "C" NOT NULL,         -- apple, history
        body bytea NOT NULL,
        due_at timestamptz,                       -- while it is not applied: when a sweep takes it
        applied_at timestamptz,
        is_news boolean,                          -- whether it changed anything
        PRIMARY KEY (publisher_id, uuid)
      );
      CREATE INDEX notifications_due ON notifications (due_at) WHERE due_at IS NOT NULL;
      CREATE INDEX notifications_purchase ON notifications (publisher_id, original_transaction_id, signed_date)
        WHERE original_transaction_id IS NOT NULL;
      CREATE INDEX notifications_age ON notifications USING brin (received_at);

      -- How far each app's Notification History was read, and when Apple spoke to us last.
      CREATE TABLE notification_sources (
        publisher_id bigint NOT NULL,
        bundle_id text COLLATE "C" NOT NULL,
        environment text COLLATE "C" NOT NULL,
        last_received_at timestamptz,
        longest_silence interval,                 -- between two notifications; grows at once, shrinks slowly
        read_through timestamptz,                 -- the end of the last complete reading
        reading_at timestamptz,                   -- when somebody began to read: nobody else does for a while
        PRIMARY KEY (publisher_id, bundle_id, environment)
      );
      """)
}

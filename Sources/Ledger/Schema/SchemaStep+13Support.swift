extension SchemaStep {
  /// What support desks need: short lists for the console, notes, the sandbox for one customer, imports over HTTP.
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
      CREATE INDEX customer_notes_timeline ON customer_notes (publisher_id, customer_id, created_at DESC, id);

      -- The customers whose sandbox purchases give access until a time, whatever the publisher's file says. The row goes
      -- when that is over; the audit log stays.
      CREATE TABLE sandbox_access (
        publisher_id bigint NOT NULL,
        customer_id text COLLATE "C" NOT NULL,
        ends_at timestamptz NOT NULL,
        reason text NOT NULL,
        person text COLLATE "C",                  -- who gave it at the console; null for a token's request
        created_at timestamptz NOT NULL,
        due_at timestamptz NOT NULL,              -- when a worker must tell the end
        PRIMARY KEY (publisher_id, customer_id)
      );
      CREATE INDEX sandbox_access_due ON sandbox_access (publisher_id, due_at);

      -- Imports over HTTP. One of a publisher runs at a time.
      CREATE TABLE imports (
        publisher_id bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        state text COLLATE "C" NOT NULL,          -- open, started, done, failed, cancelled
        options bytea NOT NULL,                   -- JSON
        counts bytea NOT NULL DEFAULT '{}',       -- JSON: how far it is
        cause text,                               -- why it failed
        token text COLLATE "C",                   -- the name of the token that made it
        person text COLLATE "C",                  -- who made it at the console
        created_at timestamptz NOT NULL DEFAULT now(),
        started_at timestamptz,
        ended_at timestamptz,
        holder text COLLATE "C",                  -- the run of a worker that has the lease
        due_at timestamptz,                       -- while it is started: the end of the lease
        PRIMARY KEY (publisher_id, id)
      );
      CREATE UNIQUE INDEX imports_started ON imports (publisher_id) WHERE due_at IS NOT NULL;
      CREATE INDEX imports_due ON imports (due_at) WHERE due_at IS NOT NULL;
      CREATE INDEX imports_page ON imports (publisher_id, created_at DESC, id);
      -- The file of an import, in the order of parts and chunks, and its report.
      CREATE TABLE import_uploads (
        publisher_id bigint NOT NULL,
        import_id text COLLATE "C" NOT NULL,
        part integer NOT NULL,
        chunk integer NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (publisher_id, import_id, part, chunk)
      );
      CREATE TABLE import_reports (
        publisher_id bigint NOT NULL,
        import_id text COLLATE "C" NOT NULL,
        chunk integer NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (publisher_id, import_id, chunk)
      );
      """)
}

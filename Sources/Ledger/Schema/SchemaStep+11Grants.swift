extension SchemaStep {
  /// Access that a publisher's people give by hand.
  static let eleven = SchemaStep(
    number: 11, name: "grants",
    sql: """
      -- A source of entitlement beside purchases. A row stays when its grant is over, until the customer's erasure.
      CREATE TABLE grants (
        publisher_id bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        customer_id text COLLATE "C" NOT NULL,
        offer_id text COLLATE "C" NOT NULL,
        reason text COLLATE "C" NOT NULL,         -- support, goodwill, promo
        note text,
        created_at timestamptz NOT NULL,
        ends_at timestamptz NOT NULL,
        withdrawn_at timestamptz,
        ended_at timestamptz,                     -- when a commit told the end
        due_at timestamptz,                       -- while it is open: when a worker must tell the end
        PRIMARY KEY (publisher_id, id)
      );
      CREATE INDEX grants_customer ON grants (publisher_id, customer_id, created_at DESC, id);
      CREATE INDEX grants_open ON grants (publisher_id, customer_id) WHERE due_at IS NOT NULL;
      CREATE INDEX grants_due ON grants (publisher_id, due_at) WHERE due_at IS NOT NULL;

      -- How many grants each publisher has given on its last day with any, in UTC.
      CREATE TABLE grant_days (
        publisher_id bigint PRIMARY KEY,
        day date NOT NULL,
        count integer NOT NULL
      );
      """)
}

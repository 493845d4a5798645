extension SchemaStep {
  /// Sandbox purchases that give one customer access until a date.
  static let fourteen = SchemaStep(
    number: 14, name: "sandbox access",
    sql: """
      -- One customer's override of the publisher's sandboxAccess: the last one, until the customer's erasure.
      CREATE TABLE sandbox_access (
        publisher_id bigint NOT NULL,
        customer_id text COLLATE "C" NOT NULL,
        until timestamptz NOT NULL,
        reason text COLLATE "C" NOT NULL,         -- support, testing, appReview
        note text,
        set_by text COLLATE "C" NOT NULL,         -- as audit.actor
        set_at timestamptz NOT NULL,
        ended_at timestamptz,                     -- when a commit told the end; before `until`: withdrawn
        due_at timestamptz,                       -- while it is open: when a worker must tell the end
        PRIMARY KEY (publisher_id, customer_id)
      );
      CREATE INDEX sandbox_access_due ON sandbox_access (publisher_id, due_at) WHERE due_at IS NOT NULL;
      """)
}

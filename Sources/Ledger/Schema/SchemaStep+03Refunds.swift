extension SchemaStep {
  /// What the ledger needs to answer Apple's questions about refunds.
  static let three = SchemaStep(
    number: 3, name: "refunds",
    sql: """
      -- Each decision of a customer whether Apple may be told about the consumption. The latest one counts.
      CREATE TABLE consents (
        publisher_id bigint NOT NULL,
        customer_id text COLLATE "C" NOT NULL,
        time timestamptz NOT NULL,                -- when the customer decided
        is_given boolean NOT NULL,
        text_version text COLLATE "C" NOT NULL,   -- of the text that the customer read
        recorded_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (publisher_id, customer_id, time)
      );

      -- Customers who want their money back, and what became of Apple's question about it.
      CREATE TABLE refund_requests (
        publisher_id bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        environment text COLLATE "C" NOT NULL,
        original_transaction_id text COLLATE "C" NOT NULL,
        transaction_id text COLLATE "C" NOT NULL,
        bundle_id text COLLATE "C" NOT NULL,
        product_id text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,           -- Apple's `type`
        customer_id text COLLATE "C",             -- the owner then; null after the customer's erasure
        reason text COLLATE "C",                  -- Apple's `consumptionRequestReason`
        requested_at timestamptz NOT NULL,        -- when Apple signed its first question
        seen_at timestamptz NOT NULL,             -- when Apple signed the newest one
        deadline timestamptz NOT NULL,
        state text COLLATE "C" NOT NULL,          -- open, sending; answered, withheld, refused, decided, expired
        answer bytea,                             -- JSON, as Apple gets it
        answered_by text COLLATE "C",             -- policy, publisher
        consent_time timestamptz,                 -- the consent that the policy's answer rests on
        consent_version text COLLATE "C",
        attempts integer NOT NULL,
        last_error text,
        due_at timestamptz,                       -- when a worker must look next
        ended_at timestamptz,
        revision bigint NOT NULL DEFAULT 1,       -- grows with every change: a worker whose lease is over writes nothing
        PRIMARY KEY (publisher_id, id)
      ) WITH (fillfactor = 85);
      CREATE INDEX refund_requests_transaction ON refund_requests
        (publisher_id, environment, transaction_id, requested_at DESC);
      CREATE UNIQUE INDEX refund_requests_pending ON refund_requests (publisher_id, environment, transaction_id)
        WHERE state IN ('open', 'sending');
      CREATE INDEX refund_requests_due ON refund_requests (publisher_id, due_at) WHERE due_at IS NOT NULL;
      CREATE INDEX refund_requests_deadline ON refund_requests (publisher_id, deadline, id)
        WHERE state IN ('open', 'sending');
      CREATE INDEX refund_requests_state ON refund_requests (publisher_id, state, deadline, id);
      CREATE INDEX refund_requests_customer ON refund_requests (publisher_id, customer_id)
        WHERE customer_id IS NOT NULL;
      """)
}

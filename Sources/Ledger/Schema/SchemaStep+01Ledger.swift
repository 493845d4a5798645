extension SchemaStep {
  /// The ledger's first tables.
  static let one = SchemaStep(
    number: 1, name: "ledger",
    sql: """
      -- Customers. `told` is the JSON of the entitlements told last; `version` is the customerVersion.
      CREATE TABLE customers (
        publisher_id bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        is_registered boolean NOT NULL,           -- whether the publisher has PUT it; else a registration brought it
        email text,
        email_key text COLLATE "C",               -- the e-mail with ASCII letters in lower case
        app_account_token uuid,
        version bigint NOT NULL DEFAULT 0,
        told bytea NOT NULL DEFAULT '[]',
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (publisher_id, id)
      ) WITH (fillfactor = 85);
      CREATE UNIQUE INDEX customers_email ON customers (publisher_id, email_key) WHERE email_key IS NOT NULL;

      -- Erased customers: a job that was registered before the erasure finalizes without an owner.
      CREATE TABLE erased_customers (
        publisher_id bigint NOT NULL,
        id_sha256 bytea NOT NULL,
        erased_at timestamptz NOT NULL,
        PRIMARY KEY (publisher_id, id_sha256)
      );

      -- The fold of a purchase's evidence, and its owner. The columns from product_id on describe the deciding
      -- transaction.
      CREATE TABLE purchases (
        publisher_id bigint NOT NULL,
        environment text COLLATE "C" NOT NULL,
        original_transaction_id text COLLATE "C" NOT NULL,
        customer_id text COLLATE "C",
        subscription_id bigint,                   -- of the running ownership
        version bigint NOT NULL,
        bundle_id text COLLATE "C" NOT NULL,
        product_id text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,           -- Apple's `type`
        transaction_id text COLLATE "C" NOT NULL, -- the deciding one
        offer_id text COLLATE "C",                -- at the last commit; the present offers decide
        purchase_date timestamptz NOT NULL,
        original_purchase_date timestamptz,
        expires_date timestamptz,
        revocation_date timestamptz,
        is_upgraded boolean NOT NULL,
        ownership_type text COLLATE "C",
        quantity integer,
        price bigint,                             -- thousandths of the currency
        currency text COLLATE "C",
        offer_type integer,                       -- Apple's: 1 introductory, 2 promotional, 3 code, 4 win-back
        offer_identifier text COLLATE "C",
        offer_discount_type text COLLATE "C",
        storefront text COLLATE "C",
        app_account_token uuid,
        signed_date timestamptz NOT NULL,
        payload_sha256 bytea NOT NULL,
        renewal_signed_date timestamptz,          -- of the renewal info that counts
        renewal_sha256 bytea,
        will_renew boolean,
        next_product_id text COLLATE "C",
        grace_expires_date timestamptz,
        is_in_billing_retry boolean,
        expiration_intent integer,
        price_increase_status integer,
        status integer,                           -- Apple's unsigned status, dated by the renewal info beside it
        status_date timestamptz,
        attributes bytea,                         -- JSON: what clients told besides
        provisional_until timestamptz,            -- until Apple answers: see grantWhileAppleIsAway
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (publisher_id, environment, original_transaction_id)
      ) WITH (fillfactor = 85);
      CREATE INDEX purchases_owner ON purchases (publisher_id, customer_id) WHERE customer_id IS NOT NULL;

      -- The newest verified facts of each transaction.
      CREATE TABLE transactions (
        publisher_id bigint NOT NULL,
        environment text COLLATE "C" NOT NULL,
        transaction_id text COLLATE "C" NOT NULL,
        original_transaction_id text COLLATE "C" NOT NULL,
        signed_date timestamptz NOT NULL,
        payload_sha256 bytea NOT NULL,
        bundle_id text COLLATE "C" NOT NULL,
        product_id text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        purchase_date timestamptz NOT NULL,
        original_purchase_date timestamptz,
        expires_date timestamptz,
        revocation_date timestamptz,
        revocation_reason integer,
        is_upgraded boolean NOT NULL,
        ownership_type text COLLATE "C",
        quantity integer,
        price bigint,
        currency text COLLATE "C",
        offer_type integer,
        offer_identifier text COLLATE "C",
        offer_discount_type text COLLATE "C",
        storefront text COLLATE "C",
        app_account_token uuid,
        first_granted_at timestamptz,             -- set once for ever
        PRIMARY KEY (publisher_id, transaction_id, environment)
      ) WITH (fillfactor = 85);
      CREATE INDEX transactions_purchase ON transactions (publisher_id, original_transaction_id, environment);

      -- Each distinct piece that Apple signed. The text is header.payload.signature, each part in base64url.
      CREATE TABLE evidence (
        publisher_id bigint NOT NULL,
        environment text COLLATE "C" NOT NULL,
        original_transaction_id text COLLATE "C" NOT NULL,
        payload_sha256 bytea NOT NULL,
        kind text COLLATE "C" NOT NULL,           -- transaction, renewalInfo
        signed_date timestamptz NOT NULL,
        source text COLLATE "C" NOT NULL,         -- serverAPI, notification, receipt, client
        received_at timestamptz NOT NULL,
        header_sha256 bytea NOT NULL,
        payload bytea NOT NULL,
        signature bytea NOT NULL,
        status integer,                           -- Apple's unsigned status beside a renewal info
        PRIMARY KEY (publisher_id, environment, original_transaction_id, payload_sha256)
      );
      CREATE TABLE certificate_chains (sha256 bytea PRIMARY KEY, header bytea NOT NULL);

      -- Who owned a purchase, and when. The id is the numeric subscriptionId.
      CREATE TABLE ownerships (
        subscription_id bigint PRIMARY KEY,
        publisher_id bigint NOT NULL,
        environment text COLLATE "C" NOT NULL,
        original_transaction_id text COLLATE "C" NOT NULL,
        customer_id text COLLATE "C",             -- null after the customer's erasure
        began_at timestamptz NOT NULL,
        ended_at timestamptz,
        cause text COLLATE "C" NOT NULL           -- registration, transfer, restore
      );
      CREATE INDEX ownerships_purchase ON ownerships (publisher_id, environment, original_transaction_id, began_at);
      CREATE INDEX ownerships_customer ON ownerships (publisher_id, customer_id);
      CREATE SEQUENCE subscription_ids INCREMENT BY 100;

      -- Finalized synchronizations, and those that wait for more than 30 s.
      CREATE TABLE synchronizations (
        publisher_id bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        transaction_id text COLLATE "C" NOT NULL,
        customer_id text COLLATE "C" NOT NULL,    -- 'erased:' and a hash after the customer's erasure
        kind text COLLATE "C" NOT NULL,           -- registration, transfer
        status text COLLATE "C" NOT NULL,         -- retrying, finalized
        job bytea,                                -- while it is not finalized
        due_at timestamptz,                       -- while it is not finalized: its next run
        result text COLLATE "C",
        data bytea,                               -- the outcome as JSON, as events and the status tell it
        version bigint,
        event_id text COLLATE "C",
        finalized_at timestamptz,
        PRIMARY KEY (publisher_id, id, transaction_id, customer_id)
      );
      CREATE INDEX synchronizations_due ON synchronizations (due_at) WHERE status <> 'finalized';
      -- The indexes by customer are for erasures and exports.
      CREATE INDEX synchronizations_customer ON synchronizations (publisher_id, customer_id);
      CREATE INDEX synchronizations_age ON synchronizations USING brin (finalized_at);

      -- Events as they are published. The outbox names those that the broker has not confirmed.
      CREATE TABLE events (
        id text COLLATE "C" PRIMARY KEY,
        publisher_id bigint NOT NULL,
        customer_id text COLLATE "C",
        topic text COLLATE "C" NOT NULL,
        version bigint,
        traceparent text COLLATE "C",
        time timestamptz NOT NULL,
        body bytea NOT NULL,
        erased boolean NOT NULL DEFAULT false     -- of an erased customer: it goes once nobody is owed it
      );
      CREATE INDEX events_customer ON events (publisher_id, customer_id) WHERE customer_id IS NOT NULL;
      CREATE INDEX events_erased ON events (id) WHERE erased;
      CREATE INDEX events_age ON events USING brin (time);
      CREATE TABLE outbox (event_id text COLLATE "C" PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now());

      -- Unfinished deliveries. endpoint_id '' means: no notifier has looked yet which endpoints get the event.
      CREATE TABLE deliveries (
        event_id text COLLATE "C" NOT NULL,
        endpoint_id text COLLATE "C" NOT NULL,
        round text COLLATE "C" NOT NULL DEFAULT '',   -- '' is the first; a replay has a name
        publisher_id bigint NOT NULL,
        attempt integer NOT NULL DEFAULT 1,           -- the number of the next attempt
        due_at timestamptz NOT NULL,                  -- the next attempt
        PRIMARY KEY (event_id, endpoint_id, round)
      ) WITH (fillfactor = 85);

      -- Webhook endpoints of the API, with their secrets; the health of all endpoints.
      CREATE TABLE webhook_endpoints (
        publisher_id bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        revision bigint NOT NULL,
        url text NOT NULL,
        name text NOT NULL,
        topics text[] NOT NULL,
        format text COLLATE "C" NOT NULL,
        signature text COLLATE "C" NOT NULL,
        secrets bytea NOT NULL,                       -- JSON, as StoredEndpoint writes it
        retry text COLLATE "C" NOT NULL,
        payment_method_id bigint,
        max_concurrency integer NOT NULL,
        max_per_second integer,
        accepts_self_signed boolean NOT NULL,
        source text COLLATE "C" NOT NULL,
        put_key text COLLATE "C",
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        environment text COLLATE "C",                 -- the only one whose purchases it hears about
        PRIMARY KEY (publisher_id, id)
      );
      CREATE TABLE webhook_health (
        publisher_id bigint NOT NULL,
        endpoint_id text COLLATE "C" NOT NULL,
        failing_since timestamptz,
        disabled_at timestamptz,
        disabled_reason text COLLATE "C",
        PRIMARY KEY (publisher_id, endpoint_id)
      );
      CREATE TABLE webhook_revisions (publisher_id bigint PRIMARY KEY, revision bigint NOT NULL);

      -- The log of attempts, in one partition a day. Pages are read by (endpoint, at, id): the newest day comes first,
      -- and a sequence gives numbers to several connections in blocks.
      CREATE SEQUENCE attempt_ids CACHE 100;
      CREATE TABLE attempts (
        at timestamptz NOT NULL,
        id bigint NOT NULL DEFAULT nextval('attempt_ids'),
        publisher_id bigint NOT NULL,
        endpoint_id text COLLATE "C" NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        round text COLLATE "C" NOT NULL,
        topic text COLLATE "C" NOT NULL,
        version bigint,
        number integer NOT NULL,
        status integer,
        duration_ms bigint NOT NULL,
        error text,
        answer text,
        outcome text COLLATE "C" NOT NULL,
        next_at timestamptz,
        PRIMARY KEY (at, id)
      ) PARTITION BY RANGE (at);
      CREATE INDEX attempts_page ON attempts (publisher_id, endpoint_id, at DESC, id DESC);
      CREATE INDEX attempts_event ON attempts (event_id, endpoint_id);

      -- Every change that a token makes, written in the same commit as the change.
      CREATE TABLE audit (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        publisher_id bigint NOT NULL,
        at timestamptz NOT NULL DEFAULT now(),
        actor text COLLATE "C" NOT NULL,              -- publisher, customer
        action text COLLATE "C" NOT NULL,             -- customer.put, endpoint.created, purchase.transferred, …
        subject text COLLATE "C" NOT NULL,            -- the id that changed
        detail bytea NOT NULL                         -- JSON without personal data
      );
      CREATE INDEX audit_page ON audit (publisher_id, id DESC);
      CREATE INDEX audit_customer ON audit (publisher_id, subject) WHERE action LIKE 'customer.%';

      -- What the present offers and rules of a publisher were when entitlements were last told (re-evaluation).
      CREATE TABLE publisher_rules (
        publisher_id bigint PRIMARY KEY,
        rules_sha256 bytea NOT NULL,
        evaluated_through text COLLATE "C"
      );
      """)
}

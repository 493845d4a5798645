extension SchemaStep {
  /// The views for analysts (docs/reference/reporting.md, docs/decisions/0052-the-way-out.md).
  static let twelve = SchemaStep(
    number: 12, name: "reporting",
    sql: """
      -- The views show a hash of each customer's id under this key. Who may read the views cannot read the key, and so
      -- cannot try ids until a hash fits.
      CREATE TABLE reporting_keys (id integer PRIMARY KEY CHECK (id = 1), key bytea NOT NULL);
      INSERT INTO reporting_keys (id, key)
        VALUES (1, sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

      -- The schema is the contract. Whoever may read it needs no right on the tables: a view reads with its owner's.
      CREATE SCHEMA reporting;
      CREATE VIEW reporting.contract AS SELECT 1 AS version, 1 AS revision;

      CREATE VIEW reporting.purchases AS
      SELECT publisher_id, environment, original_transaction_id,
        left(encode(sha256((SELECT key FROM reporting_keys)
          || convert_to(publisher_id || ':' || customer_id, 'UTF8')), 'hex'), 32) AS customer,
        bundle_id, product_id, kind, offer_id, coalesce(original_purchase_date, purchase_date) AS bought_at,
        purchase_date AS period_starts_at, expires_date AS period_ends_at, grace_expires_date AS grace_ends_at,
        will_renew, coalesce(is_in_billing_retry, false) AS is_in_billing_retry, revocation_date AS revoked_at,
        coalesce(ownership_type = 'FAMILY_SHARED', false) AS is_family_shared,
        round(price / 1000.0, 3) AS price, currency, storefront, created_at, updated_at
      FROM purchases;

      CREATE VIEW reporting.periods AS
      SELECT publisher_id, environment, original_transaction_id, transaction_id, bundle_id, product_id, kind,
        purchase_date AS starts_at, expires_date AS ends_at, transaction_id = original_transaction_id AS is_first,
        CASE WHEN kind <> 'Auto-Renewable Subscription' THEN false
          WHEN offer_discount_type IS NOT NULL THEN offer_discount_type = 'FREE_TRIAL'
          ELSE coalesce(offer_type IS NOT NULL AND price = 0, false) END AS is_trial,
        CASE offer_type WHEN 1 THEN 'introductory' WHEN 2 THEN 'promotional' WHEN 3 THEN 'code' WHEN 4 THEN 'winBack'
          END AS apple_offer_type,
        offer_identifier AS apple_offer_id, round(price / 1000.0, 3) AS price, currency, storefront, quantity,
        is_upgraded, revocation_date AS revoked_at,
        coalesce(ownership_type = 'FAMILY_SHARED', false) AS is_family_shared
      FROM transactions;

      CREATE VIEW reporting.refunds AS
      SELECT publisher_id, environment, original_transaction_id, transaction_id, bundle_id, product_id, kind,
        purchase_date AS bought_at, revocation_date AS refunded_at, revocation_type AS type,
        CASE revocation_reason WHEN 0 THEN 'other' WHEN 1 THEN 'appIssue' END AS reason,
        round(price / 1000.0, 3) AS price,
        round(price * coalesce(revocation_percentage, 100000) / 100000000.0, 3) AS refunded, currency, storefront
      FROM transactions
      WHERE revocation_date IS NOT NULL AND ownership_type IS DISTINCT FROM 'FAMILY_SHARED';

      CREATE VIEW reporting.entitlements AS
      SELECT c.publisher_id, t.environment,
        left(encode(sha256((SELECT key FROM reporting_keys)
          || convert_to(c.publisher_id || ':' || c.id, 'UTF8')), 'hex'), 32) AS customer,
        t."offerId" AS offer_id, t."accessGranted" AS has_access,
        -- A time behind the year 9999 is none that PostgreSQL could show.
        CASE WHEN t."expiresAt" BETWEEN 0 AND 253402300799999
          THEN to_timestamp(t."expiresAt" / 1000.0) END AS ends_at,
        t."willRenew" AS will_renew, t."billingProblem" AS has_billing_problem,
        coalesce(t.provisional, false) AS is_provisional, coalesce(t.granted, false) AS is_granted,
        c.version AS customer_version, c.updated_at AS told_at
      FROM customers c, jsonb_to_recordset(convert_from(c.told, 'UTF8')::jsonb) AS t (
        environment text, "offerId" text, "accessGranted" boolean, "expiresAt" bigint, "willRenew" boolean,
        "billingProblem" boolean, provisional boolean, granted boolean);

      CREATE VIEW reporting.events_by_day AS
      SELECT publisher_id, (time AT TIME ZONE 'UTC')::date AS day, topic, count(*) AS events
      FROM events GROUP BY 1, 2, 3;
      """)
}

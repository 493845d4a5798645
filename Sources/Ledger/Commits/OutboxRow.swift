import Domain
import Postgres

/// The statements about `outbox`: events that the broker has not confirmed.
enum OutboxRow {
  static let insert = PostgresStatement(
    "insert outbox", "INSERT INTO outbox (event_id) SELECT * FROM unnest($1::text[]) ON CONFLICT (event_id) DO NOTHING")

  /// Owes each event to the endpoints of its publisher, if it has any: in its file ($3) or in the ledger.
  static let insertDeliveries = PostgresStatement(
    "insert deliveries", isByKeys: true,
    """
    INSERT INTO deliveries (event_id, endpoint_id, publisher_id, due_at)
    SELECT n.event_id, '', n.publisher_id, now()
    FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS n (event_id, publisher_id, is_configured)
    WHERE n.is_configured OR EXISTS (SELECT FROM webhook_endpoints w WHERE w.publisher_id = n.publisher_id)
    ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
    """)

  /// Two processes may have published one event. They lock its rows in one order.
  ///
  /// `outbox` is nearly always empty, and PostgreSQL keeps a plan of such a moment. So the rows are locked in an array,
  /// which is made once. As `IN (SELECT … FOR UPDATE)` they may be locked again for each row of the table: 200 of 5,000
  /// rows took more than ten minutes.
  static let delete = PostgresStatement(
    "delete outbox", isByKeys: true,
    """
    DELETE FROM outbox WHERE event_id = ANY(ARRAY(
      SELECT event_id FROM outbox WHERE event_id = ANY($1::text[]) ORDER BY event_id FOR UPDATE))
    """)

  /// Takes events that wait for too long, and gives them a new time, so that one sweep has each of them at a time.
  static let take = PostgresStatement(
    "take outbox",
    """
    WITH due AS (
      SELECT event_id FROM outbox WHERE created_at < now() - $1 * interval '1 millisecond'
      ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED),
    taken AS (UPDATE outbox o SET created_at = now() FROM due WHERE o.event_id = due.event_id RETURNING o.event_id)
    SELECT \(EventRow.table.selected("e"))
    FROM taken JOIN events e ON e.id = taken.event_id
    """)

  /// Reads events that are still in the outbox.
  static let read = PostgresStatement(
    "read outbox",
    """
    SELECT \(EventRow.table.selected("e"))
    FROM unnest($1::text[]) AS n (event_id) JOIN outbox o USING (event_id) JOIN events e ON e.id = o.event_id
    """)
}

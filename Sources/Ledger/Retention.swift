public import EventLoop
public import Postgres

/// Deletes what the ledger need not remember any more: finalized synchronizations, events that nobody is owed, and
/// notifications that are applied. The events of erased customers go at once, and the answers of their attempts with
/// them.
///
/// Purchases, evidence, owners, requests for refunds, consents and the audit log stay.
@LoopActor
public struct Retention {
  private let postgres: PostgresClient

  /// Creates a retention over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Deletes the oldest rows, a limited number of each kind. Several processes may do it at the same time.
  ///
  /// - Parameters:
  ///   - synchronizations: how long a finalized status is kept. It stays as long as its event: otherwise somebody who
  ///     uses its id again gets an event with the id of the old one.
  ///   - events: how long an event is kept.
  /// - Returns: how many rows it deleted.
  /// - Throws: `PostgresError`.
  public func deleteOldest(synchronizations: Duration, events: Duration, limit: Int) async throws -> Int {
    // Each one commits alone: none waits for the locks of another.
    let erased = try await postgres.run(PostgresQuery(.deleteErasedEvents, [.int64(Int64(limit))]))
    let age = max(synchronizations, events)
    let one = try await postgres.run(
      PostgresQuery(.deleteSynchronizations, [.int64(Int64(age.wholeMilliseconds)), .int64(Int64(limit))]))
    let other = try await postgres.run(
      PostgresQuery(.deleteEvents, [.int64(Int64(events.wholeMilliseconds)), .int64(Int64(limit))]))
    return erased.affected + one.affected + Int(try other.first?.int64("count") ?? 0)
  }

  /// Deletes old notifications, a limited number of them. What they proved stays in `evidence`.
  ///
  /// One that nobody has applied stays, however old it is. If Notification History brings one again that is gone, it is
  /// kept again as new. But it changes nothing and tells nothing: its evidence is in the ledger, and a notice about no
  /// purchase is too old to be told (`NotificationNotice.isNews`).
  ///
  /// - Parameter age: how long a notification is kept after it reached us.
  /// - Returns: how many it deleted.
  /// - Throws: `PostgresError`.
  public func deleteNotifications(after age: Duration, limit: Int) async throws -> Int {
    try await postgres.run(
      PostgresQuery(.deleteNotifications, [.int64(Int64(age.wholeMilliseconds)), .int64(Int64(limit))])
    ).affected
  }

  /// Deletes imports over HTTP that nobody has changed for a time, with their files and reports.
  ///
  /// - Parameter age: how long an import is kept after its last change. A running one changes every few seconds.
  /// - Returns: how many it deleted.
  /// - Throws: `PostgresError`.
  public func deleteImports(after age: Duration, limit: Int) async throws -> Int {
    let rows = try await postgres.run(
      PostgresQuery(.deleteImports, [.int64(Int64(age.wholeMilliseconds)), .int64(Int64(limit))]))
    return Int(try rows.first?.int64("count") ?? 0)
  }
}

extension PostgresStatement {
  fileprivate static let deleteImports = PostgresStatement(
    "delete old imports",
    """
    WITH old AS (
      SELECT publisher_id, id FROM imports WHERE changed_at < now() - $1 * interval '1 millisecond'
      LIMIT $2 FOR UPDATE SKIP LOCKED),
    parts AS (
      DELETE FROM import_parts p USING old WHERE p.publisher_id = old.publisher_id AND p.import_id = old.id),
    gone AS (
      DELETE FROM imports i USING old WHERE i.publisher_id = old.publisher_id AND i.id = old.id RETURNING 1)
    SELECT count(*) AS count FROM gone
    """)

  fileprivate static let deleteNotifications = PostgresStatement(
    "delete old notifications",
    """
    WITH old AS (
      SELECT publisher_id, uuid FROM notifications
      WHERE received_at < now() - $1 * interval '1 millisecond' AND applied_at IS NOT NULL
      LIMIT $2 FOR UPDATE SKIP LOCKED)
    DELETE FROM notifications n USING old WHERE n.publisher_id = old.publisher_id AND n.uuid = old.uuid
    """)

  fileprivate static let deleteSynchronizations = PostgresStatement(
    "delete old synchronizations",
    """
    WITH old AS (
      SELECT publisher_id, id, transaction_id, customer_id FROM synchronizations
      WHERE finalized_at < now() - $1 * interval '1 millisecond'
        AND NOT EXISTS (SELECT FROM events e WHERE e.id = event_id)
      LIMIT $2 FOR UPDATE SKIP LOCKED)
    DELETE FROM synchronizations s USING old
    WHERE s.publisher_id = old.publisher_id AND s.id = old.id AND s.transaction_id = old.transaction_id
      AND s.customer_id = old.customer_id
    """)

  /// The commit that ends the last delivery writes its attempt too. So the answer is there when the delivery is gone.
  fileprivate static let deleteErasedEvents = PostgresStatement(
    "delete erased events",
    """
    WITH gone AS (
      SELECT e.id FROM events e WHERE e.erased
        AND NOT EXISTS (SELECT FROM outbox o WHERE o.event_id = e.id)
        AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = e.id)
        AND NOT EXISTS (SELECT FROM owed_events w WHERE w.event_id = e.id)
      LIMIT $1 FOR UPDATE SKIP LOCKED),
    answers AS (
      UPDATE attempts a SET answer = NULL FROM gone WHERE a.event_id = gone.id AND a.answer IS NOT NULL)
    DELETE FROM events e USING gone WHERE e.id = gone.id
    """)

  /// Not those of erased customers: their answers must go with them.
  ///
  /// It notes how far the deleted events of each publisher reach. A reader by pull whose cursor is before that is told
  /// so, and misses nothing in silence.
  fileprivate static let deleteEvents = PostgresStatement(
    "delete old events",
    """
    WITH old AS (
      SELECT e.id FROM events e WHERE e.time < now() - $1 * interval '1 millisecond' AND NOT e.erased
        AND NOT EXISTS (SELECT FROM outbox o WHERE o.event_id = e.id)
        AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = e.id)
        AND NOT EXISTS (SELECT FROM owed_events w WHERE w.event_id = e.id)
      LIMIT $2 FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM events e USING old WHERE e.id = old.id RETURNING e.publisher_id, e.horizon, e.place),
    floors AS (
      INSERT INTO event_floors AS f (publisher_id, horizon, place)
      SELECT DISTINCT ON (publisher_id) publisher_id, horizon, place FROM gone WHERE horizon IS NOT NULL
      ORDER BY publisher_id, horizon DESC, place DESC
      ON CONFLICT (publisher_id) DO UPDATE SET horizon = excluded.horizon, place = excluded.place
      WHERE (excluded.horizon, excluded.place) > (f.horizon, f.place))
    SELECT count(*) AS count FROM gone
    """)
}

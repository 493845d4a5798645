import Domain
import Postgres

/// The statements about `notifications`.
enum NotificationRow {
  static let table = Table<KeptNotification>("notifications", key: ["publisher_id", "uuid"]) { columns in
    columns.written("publisher_id", .publisher) { $0.publisherId }
    columns.written("uuid", .id(of: NotificationUUID.self)) { $0.uuid }
    columns.written("type", .text) { $0.type }
    columns.written("subtype", .text, isNullable: true) { $0.subtype }
    columns.written("environment", .id(of: Environment.self), isNullable: true) { $0.environment }
    columns.written("bundle_id", .id(of: BundleId.self), isNullable: true) { $0.bundleId }
    columns.written("original_transaction_id", .id(of: OriginalTransactionId.self), isNullable: true) {
      $0.originalTransactionId
    }
    columns.written("signed_date", .timestamptz) { $0.signedDate }
    columns.other("received_at", "timestamptz")
    columns.written("source", .text) { $0.source.rawValue }
    columns.written("body", .bytea) { $0.body }
    columns.written("posted", .bytea, isNullable: true) { $0.posted }
    columns.other("due_at", "timestamptz", isNullable: true)
    columns.other("applied_at", "timestamptz", isNullable: true)
    columns.other("is_news", "boolean", isNullable: true)
    columns.other("put_aside_at", "timestamptz", isNullable: true)
    columns.other("put_aside_reason", "text", isNullable: true)
  }
  /// The number of the parameter behind the columns: the milliseconds until a sweep takes a notification.
  private static let patience = table.nextParameter

  /// Keeps notifications. Apple repeats one under its UUID until somebody answers 200.
  static let insert = PostgresStatement(
    "insert notifications", "WITH \(insertion) SELECT publisher_id, uuid FROM new")

  /// Inserts, and notes when Apple spoke to us last about each app, and the longest silence before.
  ///
  /// Only a new notification shows that Apple reaches us. One of the history does not, nor does an old body that
  /// somebody posts again.
  private static let insertion = """
    new AS (
    INSERT INTO notifications (\(table.names), due_at)
    SELECT n.*, now() + $\(patience) * interval '1 millisecond' FROM \(table.source)
    ON CONFLICT DO NOTHING RETURNING publisher_id, uuid, bundle_id, environment, source),
    noted AS (
      INSERT INTO notification_sources AS s (publisher_id, bundle_id, environment, last_received_at)
      SELECT DISTINCT publisher_id, bundle_id, environment, now() FROM new
      WHERE source = 'apple' AND bundle_id IS NOT NULL AND environment IS NOT NULL
      ORDER BY 1, 2, 3
      ON CONFLICT (publisher_id, bundle_id, environment) DO UPDATE SET last_received_at = excluded.last_received_at,
        longest_silence = greatest(
          s.longest_silence * 0.999,
          excluded.last_received_at - coalesce(s.last_received_at, excluded.last_received_at))
        WHERE s.last_received_at IS NULL OR s.last_received_at < excluded.last_received_at - interval '1 second')
    """

  /// As ``insert``, and owes the new ones to the URLs that get them, too.
  static let insertForwarded = PostgresStatement(
    "insert forwarded notifications",
    """
    WITH \(insertion),
    owed AS (
      INSERT INTO deliveries (event_id, endpoint_id, publisher_id, due_at)
      SELECT f.event_id, f.endpoint_id, publisher_id, now()
      FROM unnest($\(patience + 1)::bigint[], $\(patience + 2)::text[], $\(patience + 3)::text[],
        $\(patience + 4)::text[]) AS f (publisher_id, uuid, event_id, endpoint_id)
        JOIN new USING (publisher_id, uuid)
      ON CONFLICT (event_id, endpoint_id, round) DO NOTHING)
    SELECT publisher_id, uuid FROM new
    """)

  /// The further parameters of ``insertForwarded``; empty if nothing is owed to anybody.
  static func forwards(_ rows: [KeptNotification]) -> [PostgresParameter] {
    let owed = rows.flatMap { row in
      Delivery.id(of: row.key).map { id in row.forwards.map { (row: row, id: id, forward: $0) } } ?? []
    }
    if owed.isEmpty { return [] }
    return [
      .ids(owed.map(\.row.publisherId)), .ids(owed.map(\.row.uuid)), .ids(owed.map(\.id)),
      .ids(owed.map(\.forward)),
    ]
  }

  /// Reads what Apple posted.
  static let readPosted = PostgresStatement(
    "read posted notification",
    "SELECT posted, body, environment FROM notifications WHERE publisher_id = $1 AND uuid = $2")

  /// Reads notifications that nobody has applied.
  static let read = PostgresStatement(
    "read notifications",
    """
    SELECT k.publisher_id, k.uuid, k.body, k.source FROM unnest($1::bigint[], $2::text[]) AS n (publisher_id, uuid)
      JOIN notifications k USING (publisher_id, uuid) WHERE k.applied_at IS NULL AND k.put_aside_at IS NULL
    """)

  /// Takes notifications that nobody has applied in time, some of each publisher's. Each is due a while later, so that
  /// one sweep has it.
  static let takeOverdue = PostgresStatement(
    "take overdue notifications",
    """
    WITH due AS (
      SELECT d.* FROM unnest($3::bigint[]) AS u (publisher_id) CROSS JOIN LATERAL (
        SELECT n.publisher_id, n.uuid FROM notifications n
        WHERE n.publisher_id = u.publisher_id AND n.due_at < now()
        ORDER BY n.due_at LIMIT $4 FOR UPDATE SKIP LOCKED) d
      LIMIT $2)
    UPDATE notifications k SET due_at = now() + $1 * interval '1 millisecond' FROM due
    WHERE k.publisher_id = due.publisher_id AND k.uuid = due.uuid
    RETURNING k.publisher_id, k.uuid
    """)

  /// Notes that notifications are applied. The first commit tells whether they brought news.
  static let apply = PostgresStatement(
    "apply notifications",
    """
    UPDATE notifications k SET due_at = NULL, applied_at = $4, is_news = n.is_news
    FROM (SELECT DISTINCT ON (1, 2) * FROM unnest($1::bigint[], $2::text[], $3::boolean[]) AS u (publisher_id, uuid, is_news)
      ORDER BY 1, 2, 3 DESC) n
    WHERE k.publisher_id = n.publisher_id AND k.uuid = n.uuid AND k.applied_at IS NULL
    RETURNING k.publisher_id, k.uuid
    """)

  /// Puts notifications off for which this worker has no place: each for as long as it has waited, an hour at most.
  static let putOff = PostgresStatement(
    "put notifications off",
    """
    UPDATE notifications k
    SET due_at = now() + least(greatest(now() - k.received_at, $3 * interval '1 millisecond'), interval '1 hour')
    FROM unnest($1::bigint[], $2::text[]) AS n (publisher_id, uuid)
    WHERE k.publisher_id = n.publisher_id AND k.uuid = n.uuid AND k.applied_at IS NULL AND k.put_aside_at IS NULL
    """)

  /// Puts notifications aside: no sweep and no message brings them back. A person does (docs/operate/runbooks).
  static let putAside = PostgresStatement(
    "put notifications aside",
    """
    WITH open AS (
      SELECT k.publisher_id, k.uuid, n.reason
      FROM unnest($1::text[], $2::text[]) AS n (uuid, reason) CROSS JOIN unnest($3::bigint[]) AS p (publisher_id)
        JOIN notifications k ON k.publisher_id = p.publisher_id AND k.uuid = n.uuid
      WHERE k.applied_at IS NULL AND k.put_aside_at IS NULL
      ORDER BY k.publisher_id, k.uuid FOR NO KEY UPDATE OF k)
    UPDATE notifications k SET due_at = NULL, put_aside_at = now(), put_aside_reason = o.reason FROM open o
    WHERE k.publisher_id = o.publisher_id AND k.uuid = o.uuid
    RETURNING k.publisher_id, k.uuid
    """)

  /// Counts what is put aside. The partial index has nothing else.
  static let countPutAside = PostgresStatement(
    "count notifications put aside", "SELECT count(*) AS count FROM notifications WHERE put_aside_at IS NOT NULL")

  /// The parameters of ``apply``.
  static func applied(_ rows: [CommitState.AppliedNotification], _ now: Int64) -> [PostgresParameter] {
    let rows = rows.sorted { ($0.publisherId, $0.uuid) < ($1.publisherId, $1.uuid) }
    return [.ids(rows.map(\.publisherId)), .ids(rows.map(\.uuid)), .bools(rows.map(\.isNews)), .time(now)]
  }
}

extension NotificationKey {
  /// Reads the columns of the key.
  init(_ row: PostgresRow) throws {
    self.init(publisherId: try row.id("publisher_id") ?? 0, uuid: try row.id("uuid") ?? "")
  }
}

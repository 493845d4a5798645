public import Domain
public import EventLoop
public import Postgres

/// Reads a publisher's events by pull, in the order of their positions (decision 0049).
///
/// A reader sees only events behind which nothing can appear any more: those up to the oldest transaction that runs.
@LoopActor
public struct EventFeed {
  private let postgres: PostgresClient

  /// Creates a feed over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// The events that a page with a filter looks at, so that a rare topic does not keep the ledger busy.
  public nonisolated static let window = 2000
  /// The most bytes of the bodies of a page that has more than one event.
  public nonisolated static let mostBytes = 512 << 10

  /// What a reader wants.
  public struct Wish: Sendable, Equatable {
    /// The publisher whose events it reads.
    public var publisherId: PublisherId
    /// Where it has read up to; `nil` begins with the oldest event that is kept.
    public var after: EventCursor?
    /// The topics; empty for all.
    public var topics: [EventTopic]
    /// Only events that happened then or later, in milliseconds since 1970.
    public var since: Int64?
    /// The most events of a page.
    public var limit: Int

    /// Creates a wish.
    public init(
      _ publisherId: PublisherId, after: EventCursor? = nil, topics: [EventTopic] = [], since: Int64? = nil,
      limit: Int = 50
    ) {
      (self.publisherId, self.after, self.topics) = (publisherId, after, topics)
      (self.since, self.limit) = (since, limit)
    }

    /// How many events the ledger looks at. Without a filter, one more than wanted tells whether there are more.
    var window: Int { topics.isEmpty && since == nil ? limit + 1 : EventFeed.window }
  }

  /// The answer to a wish.
  public enum Answer: Sendable, Equatable {
    case page(EventPage)
    case refused(EventCursorRefusal)
  }

  /// Reads a page.
  ///
  /// - Throws: `PostgresError`; ``UnreadableRecord``.
  public func read(_ wish: Wish) async throws -> Answer {
    let start = wish.after?.position ?? .start
    let rows = try await postgres.run(
      [
        PostgresQuery(
          .readFeed,
          [
            .id(wish.publisherId), .int64(start.horizon), .int64(start.place), .int64(Int64(wish.window)),
            .ids(wish.topics), .time(wish.since), .int64(Int64(wish.limit)), .int64(Int64(Self.mostBytes)),
          ])
      ])[0]
    guard let first = rows.first else { return .refused(.ledgerNotReady) }
    let moment = try Self.moment(first, wish.publisherId)
    if let refusal = moment.refusal(of: wish.after) { return .refused(refusal) }
    let reader = try EventRow.table.reader(of: rows)
    var events: [(event: Event, position: EventPosition)] = []
    for row in rows {
      guard let position = try Self.position(row, "horizon", "place") else { continue }
      events.append((try reader.record(row).event, position))
    }
    return .page(EventPage(events, after: wish.after, moment, window: wish.window))
  }

  /// How far a publisher has read its events.
  public struct Reader: Sendable, Equatable {
    public let publisherId: PublisherId
    /// The last event that it has read.
    public let position: EventPosition

    /// Creates a reader.
    public init(publisherId: PublisherId, position: EventPosition) {
      (self.publisherId, self.position) = (publisherId, position)
    }
  }

  /// Tells which readers have something to read: their places in the list.
  ///
  /// - Throws: `PostgresError`.
  public func ready(_ readers: [Reader]) async throws -> [Int] {
    guard !readers.isEmpty else { return [] }
    return try await postgres.run(
      PostgresQuery(
        .readyFeeds,
        [
          .ids(readers.map(\.publisherId)), .int64s(readers.map(\.position.horizon)),
          .int64s(readers.map(\.position.place)),
        ])
    ).compactMap { row in try row.int64("number").map { Int($0) - 1 } }
  }

  /// Puts the events of another server before all events of this one. `countersign migrate` does it.
  ///
  /// After a dump is restored into another server, its events have positions that this server's transactions reach
  /// later, or never. Their order among each other stays: that of their places.
  ///
  /// - Returns: how many events it has moved.
  /// - Throws: `PostgresError`.
  public func adoptRestored() async throws -> Int {
    try await postgres.run([PostgresQuery(.adoptFloors), PostgresQuery(.adoptEvents)])[1].affected
  }

  private nonisolated static func moment(_ row: PostgresRow, _ publisher: PublisherId) throws -> EventMoment {
    EventMoment(
      history: EventCursor.history(
        system: try row.int64("system") ?? 0, timeline: try row.int64("timeline") ?? 0, publisher: publisher),
      end: try row.int64("end_of_history") ?? 0, floor: try position(row, "floor_horizon", "floor_place"),
      newest: try row.int64("newest_horizon").map { EventPosition(horizon: $0, place: 0) },
      lookedUpTo: try position(row, "looked_horizon", "looked_place"),
      lookedAt: Int(try row.int64("looked_at") ?? 0), wanted: Int(try row.int64("wanted") ?? 0))
  }

  private nonisolated static func position(
    _ row: PostgresRow, _ horizon: PostgresColumn, _ place: PostgresColumn
  ) throws -> EventPosition? {
    guard let horizon = try row.int64(horizon), let place = try row.int64(place) else { return nil }
    return EventPosition(horizon: horizon, place: place)
  }
}

extension PostgresStatement {
  private static let oldestRunning = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
  private static let end = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
  /// The rows of the index `events_pull`.
  private static func isRead(_ alias: String) -> String { "\(alias).horizon IS NOT NULL AND NOT \(alias).erased" }

  /// One statement, and so one moment. An event of the topic `test` goes to one webhook endpoint alone. What is older
  /// than a floor is only there because somebody is owed it.
  fileprivate static let readFeed = PostgresStatement(
    "read feed",
    """
    WITH looked AS MATERIALIZED (
      SELECT e.* FROM events e
      WHERE e.publisher_id = $1 AND \(isRead("e")) AND (e.horizon, e.place) > ($2::bigint, $3::bigint)
        AND (e.horizon, e.place) > (
          SELECT coalesce(max(f.horizon), 0), coalesce(max(f.place), 0) FROM event_floors f WHERE f.publisher_id = $1)
        AND e.horizon <= \(oldestRunning)
      ORDER BY e.horizon, e.place LIMIT $4),
    wanted AS MATERIALIZED (
      SELECT l.*, row_number() OVER mine AS number, sum(octet_length(l.body)) OVER mine AS bytes
      FROM looked l
      WHERE l.topic <> '\(EventTopic.test)' AND (cardinality($5::text[]) = 0 OR l.topic = ANY($5::text[]))
        AND ($6::timestamptz IS NULL OR l.time >= $6::timestamptz)
      WINDOW mine AS (ORDER BY l.horizon, l.place)),
    page AS (SELECT * FROM wanted w WHERE w.number <= $7 AND (w.number = 1 OR w.bytes <= $8))
    SELECT m.*, p.horizon, p.place, \(EventRow.table.selected("p"))
    FROM (
      SELECT c.system_identifier AS system, \(end) AS end_of_history,
        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint AS timeline,
        f.horizon AS floor_horizon, f.place AS floor_place,
        (SELECT e.horizon FROM events e WHERE e.publisher_id = $1 AND \(isRead("e"))
          ORDER BY e.publisher_id DESC, e.horizon DESC, e.place DESC LIMIT 1) AS newest_horizon,
        last.horizon AS looked_horizon, last.place AS looked_place,
        (SELECT count(*) FROM looked) AS looked_at, (SELECT count(*) FROM wanted) AS wanted
      FROM pg_control_system() c
        LEFT JOIN event_floors f ON f.publisher_id = $1
        LEFT JOIN (SELECT horizon, place FROM looked ORDER BY horizon DESC, place DESC LIMIT 1) last ON true) m
      LEFT JOIN page p ON true
    ORDER BY p.horizon, p.place
    """)

  fileprivate static let readyFeeds = PostgresStatement(
    "ready feeds",
    """
    SELECT n.number FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
      AS n (publisher_id, horizon, place, number)
    WHERE EXISTS (
      SELECT FROM events e WHERE e.publisher_id = n.publisher_id AND \(isRead("e"))
        AND (e.horizon, e.place) > (n.horizon, n.place) AND e.horizon <= \(oldestRunning))
    """)

  fileprivate static let adoptEvents = PostgresStatement(
    "adopt restored events",
    """
    WITH RECURSIVE known AS (
      (SELECT e.publisher_id FROM events e WHERE \(isRead("e")) ORDER BY e.publisher_id LIMIT 1)
      UNION ALL
      SELECT (SELECT e.publisher_id FROM events e WHERE \(isRead("e")) AND e.publisher_id > k.publisher_id
        ORDER BY e.publisher_id LIMIT 1)
      FROM known k WHERE k.publisher_id IS NOT NULL)
    UPDATE events e SET horizon = 0 FROM known k
    WHERE e.publisher_id = k.publisher_id AND \(isRead("e")) AND e.horizon > \(end)
    """)

  fileprivate static let adoptFloors = PostgresStatement(
    "adopt restored floors",
    """
    DELETE FROM event_floors f WHERE f.horizon > \(end) OR EXISTS (
      SELECT FROM events e WHERE e.publisher_id = f.publisher_id AND \(isRead("e")) AND e.horizon > \(end))
    """)
}

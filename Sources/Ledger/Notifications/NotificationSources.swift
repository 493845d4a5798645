public import Domain
public import EventLoop
public import Postgres

/// How far the Notification History of each app was read, and who reads it now.
///
/// `reading_at` is the lease: it is the time at which a worker was reading. If the worker dies, another one may begin
/// after ``lease``.
@LoopActor
public struct NotificationSources {
  private let postgres: PostgresClient

  /// After this time without a sign of the reading worker, another one may read.
  public nonisolated static let lease = Duration.seconds(30)
  private nonisolated static let leaseMilliseconds = Int64(lease / .milliseconds(1))

  /// A source, and whether nobody reads it.
  public struct State: Sendable {
    public let source: NotificationSource
    public let isFree: Bool
  }

  /// Creates the sources of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Reads what is known about apps, in their order. An app without a row has had neither a notification nor a reading.
  ///
  /// - Throws: `PostgresError`.
  public func states(of apps: [NotificationSource.Key]) async throws -> [State] {
    let rows = try await postgres.run(
      PostgresQuery(
        .states,
        [
          .ids(apps.map(\.publisherId)), .ids(apps.map(\.bundleId)), .ids(apps.map(\.environment)),
          .int64(Self.leaseMilliseconds),
        ]))
    return try zip(apps, rows).map { app, row in
      State(
        source: NotificationSource(
          app, readThrough: try row.time("read_through"), lastReceivedAt: try row.time("last_received_at"),
          longestSilence: try row.int64("longest_silence")),
        isFree: try row.bool("is_free") ?? false)
    }
  }

  /// Takes a source, so that nobody else reads it.
  ///
  /// - Returns: false if another worker reads it, or has read it since `source` was read from the ledger.
  /// - Throws: `PostgresError`.
  public func take(_ source: NotificationSource) async throws -> Bool {
    let more: [PostgresParameter] = [.int64(Self.leaseMilliseconds), .time(source.readThrough)]
    return try await !postgres.run(PostgresQuery(.take, Self.key(source) + more)).isEmpty
  }

  /// Shows that the reading goes on. A reading that has just become complete stays so.
  ///
  /// - Throws: `PostgresError`.
  public func prolong(_ source: NotificationSource) async throws {
    _ = try await postgres.run(PostgresQuery(.prolong, Self.key(source)))
  }

  /// Notes a complete reading.
  ///
  /// - Parameter end: the end of what was read, in milliseconds since 1970.
  /// - Throws: `PostgresError`.
  public func complete(_ source: NotificationSource, through end: Int64) async throws {
    _ = try await postgres.run(PostgresQuery(.complete, Self.key(source) + [.time(end)]))
  }

  /// Gives a source back that was not read to the end. The next reading may begin after `pause`.
  ///
  /// - Throws: `PostgresError`.
  public func giveBack(_ source: NotificationSource, pause: Duration) async throws {
    let offset = Int64(pause / .milliseconds(1)) - Self.leaseMilliseconds
    _ = try await postgres.run(PostgresQuery(.giveBack, Self.key(source) + [.int64(offset)]))
  }

  private static func key(_ source: NotificationSource) -> [PostgresParameter] {
    [.id(source.key.publisherId), .id(source.key.bundleId), .id(source.key.environment)]
  }
}

extension PostgresStatement {
  fileprivate static let states = PostgresStatement(
    "read notification sources",
    """
    SELECT s.read_through, s.last_received_at,
      (extract(epoch FROM s.longest_silence) * 1000)::bigint AS longest_silence,
      s.reading_at IS NULL OR s.reading_at < now() - $4 * interval '1 millisecond' AS is_free
    FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS a (publisher_id, bundle_id, environment, place)
      LEFT JOIN notification_sources s USING (publisher_id, bundle_id, environment)
    ORDER BY a.place
    """)

  fileprivate static let take = PostgresStatement(
    "take a notification source",
    """
    INSERT INTO notification_sources AS s (publisher_id, bundle_id, environment, reading_at) VALUES ($1, $2, $3, now())
    ON CONFLICT (publisher_id, bundle_id, environment) DO UPDATE SET reading_at = excluded.reading_at
      WHERE (s.reading_at IS NULL OR s.reading_at < now() - $4 * interval '1 millisecond')
        AND s.read_through IS NOT DISTINCT FROM $5
    RETURNING s.publisher_id
    """)

  fileprivate static let prolong = PostgresStatement(
    "prolong a reading",
    """
    UPDATE notification_sources SET reading_at = now()
    WHERE publisher_id = $1 AND bundle_id = $2 AND environment = $3 AND reading_at IS NOT NULL
    """)

  fileprivate static let complete = PostgresStatement(
    "complete a reading",
    """
    UPDATE notification_sources SET read_through = greatest(read_through, least($4, now())), reading_at = NULL
    WHERE publisher_id = $1 AND bundle_id = $2 AND environment = $3
    """)

  fileprivate static let giveBack = PostgresStatement(
    "give back a notification source",
    """
    UPDATE notification_sources SET reading_at = now() + $4 * interval '1 millisecond'
    WHERE publisher_id = $1 AND bundle_id = $2 AND environment = $3
    """)
}

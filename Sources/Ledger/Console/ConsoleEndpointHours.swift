public import Domain
import EventLoop
import Postgres

extension ConsoleEndpoint {
  /// An hour of an endpoint's attempts.
  public struct Hour: Sendable, Equatable {
    /// When it began, in milliseconds since 1970.
    public let start: Int64
    /// Its newest attempts that were looked at, ``ConsoleEndpoints/mostOfHour`` at most.
    public let made: Int64
    /// Those of them that delivered.
    public let delivered: Int64
    /// The middle one of their durations; `nil` without an attempt.
    public let medianMilliseconds: Int64?

    /// Creates an hour.
    public init(start: Int64, made: Int64 = 0, delivered: Int64 = 0, medianMilliseconds: Int64? = nil) {
      (self.start, self.made, self.delivered) = (start, made, delivered)
      self.medianMilliseconds = medianMilliseconds
    }
  }
}

extension ConsoleEndpoints {
  /// The most attempts of an hour that its numbers look at: an endpoint may have 100,000 of them.
  public nonisolated static let mostOfHour: Int64 = 50

  /// Reads the last 24 hours of an endpoint's attempts, the oldest first. The last one ends now.
  public func hours(
    of publisher: PublisherId, _ id: EndpointId, within time: Duration
  ) async throws -> [ConsoleEndpoint.Hour] {
    let query = PostgresQuery(.readConsoleEndpointHours, [.id(publisher), .id(id), .int64(Self.mostOfHour)])
    let rows = try await postgres.limited(to: time, [query]).first
    return try rows.map { rows in try rows.map(ConsoleEndpoint.Hour.init) } ?? []
  }
}

extension ConsoleEndpoint.Hour {
  fileprivate init(_ row: PostgresRow) throws {
    self.init(
      start: try row.time("start") ?? 0, made: try row.int64("made") ?? 0,
      delivered: try row.int64("delivered") ?? 0, medianMilliseconds: try row.int64("median"))
  }
}

extension PostgresStatement {
  /// Each hour begins at its newest attempt in the index by endpoint and time, and touches a bounded number of rows.
  fileprivate static let readConsoleEndpointHours = PostgresStatement(
    "console: read hours of endpoint",
    """
    SELECT hour.start, log.made, log.delivered, log.median
    FROM generate_series(1, 24) AS back
    CROSS JOIN LATERAL (SELECT now() - (25 - back) * interval '1 hour' AS start) AS hour
    CROSS JOIN LATERAL (
      SELECT count(*) AS made, count(*) FILTER (WHERE outcome = 'delivered') AS delivered,
        percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms) AS median
      FROM (
        SELECT outcome, duration_ms FROM attempts
        WHERE publisher_id = $1 AND endpoint_id = $2 AND at > hour.start AND at <= hour.start + interval '1 hour'
        ORDER BY at DESC, id DESC LIMIT $3) AS newest) AS log
    ORDER BY hour.start
    """)
}

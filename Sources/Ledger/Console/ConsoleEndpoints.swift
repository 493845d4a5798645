public import Domain
public import EventLoop
public import Postgres

/// Reads webhook endpoints and what became of their deliveries, for the console.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct ConsoleEndpoints {
  let postgres: PostgresClient

  /// The most attempts of an endpoint that its success rate looks at.
  public nonisolated static let mostAttempts: Int64 = 200

  /// The most open deliveries that a backlog looks at: nothing puts them in the order of their endpoints.
  public nonisolated static let mostOpen: Int64 = 5000

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Reads the endpoints that the API manages, in the order of publishers and ids.
  ///
  /// - Parameter after: the last one of the page before.
  public func endpoints(
    of publishers: [PublisherId], after: EndpointKey?, limit: Int
  ) async throws -> [ConsoleEndpoint] {
    guard !publishers.isEmpty else { return [] }
    let rows = try await postgres.run(
      PostgresQuery(
        .readConsoleEndpoints,
        [
          .ids(publishers), .int64(after?.publisherId.number ?? .min), .text(after?.id.text ?? ""),
          .int64(Int64(limit)),
        ]))
    return try rows.map { try ConsoleEndpoint($0) }
  }

  /// Reads those of a publisher's endpoints that the API manages, in no order.
  public func endpoints(of publisher: PublisherId, named ids: [EndpointId]) async throws -> [ConsoleEndpoint] {
    guard !ids.isEmpty else { return [] }
    let rows = try await postgres.run(PostgresQuery(.readNamedConsoleEndpoints, [.id(publisher), .ids(ids)]))
    return try rows.map { try ConsoleEndpoint($0) }
  }

  /// Reads the states of endpoints, in their order.
  public func states(of endpoints: [EndpointKey]) async throws -> [ConsoleEndpoint.State] {
    guard !endpoints.isEmpty else { return [] }
    let rows = try await postgres.run(
      PostgresQuery(
        .readConsoleEndpointStates,
        [
          .ids(endpoints.map(\.publisherId)), .ids(endpoints.map(\.id)), .int64(Self.mostAttempts),
        ]))
    return try rows.map { row in
      ConsoleEndpoint.State(
        health: try EndpointHealth(row), made: try row.int64("made") ?? 0, delivered: try row.int64("delivered") ?? 0,
        medianMilliseconds: try row.int64("median"), lastDeliveredAt: try row.time("last_delivered_at"))
    }
  }

  /// Reads what an endpoint has not got yet.
  public func backlog(
    of publisher: PublisherId, _ id: EndpointId, within time: Duration
  ) async throws -> ConsoleEndpoint.Backlog {
    let query = PostgresQuery(.readConsoleBacklog, [.id(publisher), .id(id), .int64(Self.mostOpen)])
    let row = try await postgres.limited(to: time, [query]).first?.first
    return ConsoleEndpoint.Backlog(
      waiting: try row?.int64("waiting") ?? 0, oldest: try row?.time("oldest"),
      isWhole: try row?.int64("looked") ?? 0 < Self.mostOpen)
  }
}

extension ConsoleEndpoint {
  fileprivate init(_ row: PostgresRow) throws {
    self.init(
      publisherId: try row.id("publisher_id") ?? 0, id: try row.id("id") ?? .unknown,
      url: try row.text("url") ?? "", name: try row.text("name") ?? "", topics: try row.ids("topics") ?? [],
      source: try row.text("source") ?? "", createdAt: try row.time("created_at"))
  }
}

extension PostgresStatement {
  private static let columnsOfConsoleEndpoint = "publisher_id, id, url, name, topics, source, created_at"

  fileprivate static let readConsoleEndpoints = PostgresStatement(
    "console: read endpoints",
    """
    SELECT \(columnsOfConsoleEndpoint) FROM webhook_endpoints
    WHERE publisher_id = ANY($1::bigint[]) AND (publisher_id, id) > ($2::bigint, $3::text)
    ORDER BY publisher_id, id LIMIT $4
    """)

  fileprivate static let readNamedConsoleEndpoints = PostgresStatement(
    "console: read named endpoints", isByKeys: true,
    "SELECT \(columnsOfConsoleEndpoint) FROM webhook_endpoints WHERE publisher_id = $1 AND id = ANY($2::text[])")

  /// The index by endpoint and time begins with the newest attempts, so only those of the last day are touched.
  fileprivate static let readConsoleEndpointStates = PostgresStatement(
    "console: read states of endpoints",
    """
    SELECT asked.endpoint AS endpoint_id, health.failing_since, health.disabled_at, health.disabled_reason,
      log.made, log.delivered, log.median, log.last_delivered_at
    FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (publisher, endpoint, place)
    LEFT JOIN webhook_health AS health ON health.publisher_id = asked.publisher AND health.endpoint_id = asked.endpoint
    CROSS JOIN LATERAL (
      SELECT count(*) AS made, count(*) FILTER (WHERE outcome = 'delivered') AS delivered,
        percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms) AS median,
        max(at) FILTER (WHERE outcome = 'delivered') AS last_delivered_at
      FROM (
        SELECT at, outcome, duration_ms FROM attempts
        WHERE publisher_id = asked.publisher AND endpoint_id = asked.endpoint AND at > now() - interval '1 day'
        ORDER BY at DESC, id DESC LIMIT $3) AS newest) AS log
    ORDER BY asked.place
    """)

  fileprivate static let readConsoleBacklog = PostgresStatement(
    "console: read backlog of endpoint",
    """
    SELECT count(*) AS looked, count(*) FILTER (WHERE is_asked) AS waiting, min(e.time) AS oldest
    FROM (
      SELECT event_id, publisher_id = $1 AND endpoint_id = $2 AS is_asked
      FROM (SELECT event_id, endpoint_id, publisher_id FROM deliveries LIMIT $3) AS open) AS kept
    LEFT JOIN events AS e ON kept.is_asked AND e.id = kept.event_id
    """)
}

import EventLoop
import Fleets
import Postgres
import TestSupport

/// The PostgreSQL of the tests, and its superuser.
enum PostgresTestServer {
  /// Where it is; `nil` when `ops/test` did not start the tests.
  static let endpoint: PostgresEndpoint? = TestServers.current.flatMap {
    var endpoint = try? PostgresEndpoint(url: $0.ledgerURL(database: "postgres"), password: nil, caFile: nil)
    endpoint?.user = "postgres"
    return endpoint
  }

  /// Runs `body` with a client that is ready, and stops the client.
  @LoopActor
  static func with(
    connections: Int = 2, _ body: @LoopActor (PostgresClient) async throws -> Void
  ) async throws {
    try await with(connections: connections, { _ in }, body)
  }

  /// Does the same with another endpoint.
  @LoopActor
  static func with(
    connections: Int = 2, _ change: (inout PostgresEndpoint) -> Void,
    _ body: @LoopActor (PostgresClient) async throws -> Void
  ) async throws {
    var endpoint = Self.endpoint!.patient
    change(&endpoint)
    try await PostgresClient.running(endpoint, connections: connections, body)
  }
}

extension PostgresEndpoint {
  /// The endpoint with the limits of the tests: all of them share one loop and few cores. So a late reply has not met a
  /// failed server, and a transaction that waits for its turn has not met a failed client.
  var patient: PostgresEndpoint {
    var endpoint = self
    endpoint.connectTimeout = .seconds(300)
    endpoint.replyTimeout = .seconds(300)
    // A test that breaks the server is alone, and waits until the server forgets the transactions that it cut off.
    if !TestServers.mayBreak {
      endpoint.idleInTransactionTimeout = .seconds(300)
      // A commit that has waited for too long begins anew, and another one has its locks by then.
      endpoint.lockTimeout = .seconds(300)
    }
    return endpoint
  }
}

extension PostgresQuery {
  /// A query whose statement's name is the beginning of its text.
  init(_ sql: String, _ parameters: [PostgresParameter] = []) {
    self.init(PostgresStatement(String(decoding: sql.utf8.prefix(50), as: UTF8.self), sql), parameters)
  }
}

/// The error that `body` throws; `nil` if it throws none, or another one.
@LoopActor
func postgresError<Value>(_ body: @LoopActor () async throws -> Value) async -> PostgresError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? PostgresError
  }
}

import EventLoop
import Postgres

extension PostgresClient {
  /// Returns a client with one connection, for a command, after its first attempt to connect. Without that, the first
  /// statement would find no connection yet.
  @LoopActor
  static func opened(_ endpoint: PostgresEndpoint) async -> PostgresClient {
    let (changes, change) = AsyncStream.makeStream(of: Void.self)
    let postgres = PostgresClient(endpoint, connections: 1) { _ in change.yield() }
    postgres.start()
    for await _ in changes { break }
    return postgres
  }
}

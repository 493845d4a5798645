import EventLoop
import Postgres

extension PostgresClient {
  /// Opens a client with one connection for a command.
  @LoopActor
  static func opened(_ endpoint: PostgresEndpoint) async -> PostgresClient {
    await afterFirstAttempt { onChange in
      let postgres = PostgresClient(endpoint, connections: 1) { _ in onChange() }
      postgres.start()
      return postgres
    }
  }
}

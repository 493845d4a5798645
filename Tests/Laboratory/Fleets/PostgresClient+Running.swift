import EventLoop
public import Postgres
import TestSupport

extension PostgresClient {
  /// Starts a client, waits until it is ready, runs a body, and stops the client.
  @LoopActor
  public static func running<Result>(
    _ endpoint: PostgresEndpoint, connections: Int = 1, _ body: @LoopActor (PostgresClient) async throws -> Result
  ) async throws -> Result {
    let client = PostgresClient(endpoint, connections: connections)
    client.start()
    do {
      try await eventually("a connection to PostgreSQL") { client.isReady }
      let result = try await body(client)
      await client.stop()
      return result
    } catch {
      await client.stop()
      throw error
    }
  }
}

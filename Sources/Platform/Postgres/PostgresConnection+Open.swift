import EventLoop
import Formats

extension PostgresConnection {
  /// Connects to the first host and address that takes writes.
  ///
  /// - Parameter newest: the newest timeline that the caller knows. A server with an older one is refused.
  /// - Throws: ``PostgresError`` with the causes of all attempts.
  static func open(_ endpoint: PostgresEndpoint, newest: PostgresTimeline?) async throws -> PostgresConnection {
    var causes: [String] = []
    for server in endpoint.hosts {
      do {
        for address in try await EventLoop.resolve(server.host) {
          // Whoever stops the client waits for this.
          try Task.checkCancellation()
          do {
            return try await openDirectly(endpoint, server, address: address, newest)
          } catch {
            causes.append(ConnectRefusal.explained(PoolerCheck.explained(error.cause), caFile: endpoint.caFile))
          }
        }
      } catch let error as ResolutionError {
        causes.append("\(error)")
      }
    }
    let cause = causes.isEmpty ? "no host has an address" : causes.joined(separator: "; ")
    throw PostgresError(.unreachable, operation: "connect", target: endpoint.description, cause: cause)
  }

  /// Connects to one address, and refuses a pooler that would change the session, a server whose commits hang, and a
  /// server that was replaced.
  private static func openDirectly(
    _ endpoint: PostgresEndpoint, _ server: ServerAddress, address: String, _ newest: PostgresTimeline?
  ) async throws(PostgresError) -> PostgresConnection {
    let connection = try await open(endpoint, server, address: address)
    do throws(PostgresError) {
      try await connection.refusePooler(endpoint) {
        try await open(endpoint, server, address: address)
      }
      try await connection.checkCommits(endpoint.replyTimeout)
      try await connection.checkTimeline(newest)
      return connection
    } catch {
      connection.close(.unreachable, because: error.cause)
      throw error
    }
  }

  /// Refuses a server whose commits hang because its synchronous standby is away.
  ///
  /// A commit that hangs keeps its process and its locks at the server, also after its client has left. Without this
  /// look, each new connection would add one more, until the server has no connections left. The other hosts of the
  /// URL get their turn instead.
  private func checkCommits(_ limit: Duration) async throws(PostgresError) {
    let seconds: Int64?
    do {
      let query = PostgresQuery(Self.hangingCommits, [.int64(Int64(limit.wholeMilliseconds))])
      seconds = try await run([query])[0].first?.int64("seconds")
    } catch {
      throw error as? PostgresError
        ?? PostgresError(.connectionLost, operation: "connect", target: target, cause: "\(error)")
    }
    guard let seconds else { return }
    throw PostgresError(
      .unreachable, operation: "connect", target: target,
      cause: "\(target): commits wait for a synchronous standby, the oldest for \(seconds) s")
  }

  private func checkTimeline(_ newest: PostgresTimeline?) async throws(PostgresError) {
    do {
      timeline = try await readTimeline()
    } catch {
      throw error as? PostgresError
        ?? PostgresError(.connectionLost, operation: "connect", target: target, cause: "\(error)")
    }
    guard let timeline, let newest, timeline.isReplaced(by: newest) else { return }
    throw PostgresError(
      .unreachable, operation: "connect", target: target, cause: timeline.refusal(target, newest: newest))
  }

  /// The seconds that a commit of this user has hung; NULL if none has hung for too long.
  private static let hangingCommits = PostgresStatement(
    "hanging commits",
    """
    SELECT extract(epoch FROM max(clock_timestamp() - state_change))::int8 AS seconds FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND usename = current_user
      AND state_change < clock_timestamp() - $1 * interval '1 millisecond'
    """)
}

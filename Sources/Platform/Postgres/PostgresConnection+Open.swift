import EventLoop

extension PostgresConnection {
  /// Connects to the first host and address that takes writes.
  ///
  /// - Throws: ``PostgresError`` with the causes of all attempts.
  static func open(_ endpoint: PostgresEndpoint) async throws -> PostgresConnection {
    var causes: [String] = []
    for (host, port) in endpoint.hosts {
      do {
        for address in try await EventLoop.resolve(host) {
          // Whoever stops the client waits for this.
          try Task.checkCancellation()
          do {
            return try await openDirectly(endpoint, host: host, port: port, address: address)
          } catch {
            causes.append(PoolerCheck.explained(error.cause))
          }
        }
      } catch let error as ResolutionError {
        causes.append("\(error)")
      }
    }
    let cause = causes.isEmpty ? "no host has an address" : causes.joined(separator: "; ")
    throw PostgresError(.unreachable, operation: "connect", target: endpoint.description, cause: cause)
  }

  /// Connects to one address, and refuses a pooler that would change the session.
  private static func openDirectly(
    _ endpoint: PostgresEndpoint, host: String, port: Int, address: String
  ) async throws(PostgresError) -> PostgresConnection {
    let connection = try await open(endpoint, host: host, port: port, address: address)
    do throws(PostgresError) {
      try await connection.refusePooler(endpoint) {
        try await open(endpoint, host: host, port: port, address: address)
      }
      return connection
    } catch {
      connection.close(.unreachable, because: error.cause)
      throw error
    }
  }
}

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
            return try await open(endpoint, host: host, port: port, address: address)
          } catch {
            causes.append(error.cause)
          }
        }
      } catch let error as ResolutionError {
        causes.append("\(error)")
      }
    }
    let cause = causes.isEmpty ? "no host has an address" : causes.joined(separator: "; ")
    throw PostgresError(.unreachable, operation: "connect", target: endpoint.description, cause: cause)
  }
}

import EventLoop
import Formats

extension RedisConnection {
  /// Connects, authenticates and selects the database. With sentinels, it connects to the present primary.
  ///
  /// - Throws: ``RedisError`` with code `unreachable`, or `reply` when Redis refuses the credentials or runs in
  ///   cluster mode.
  public static func open(_ endpoint: RedisEndpoint) async throws -> RedisConnection {
    guard let sentinels = endpoint.sentinels else { return try await openDirectly(endpoint) }
    return try await openPrimary(endpoint, of: sentinels).connection
  }

  /// Asks one sentinel after the other, until one names a node that is a primary.
  ///
  /// A sentinel that was cut off names an old primary. So a node's own word counts.
  ///
  /// - Returns: the connection, and the sentinel that named its node.
  static func openPrimary(
    _ endpoint: RedisEndpoint, of sentinels: RedisSentinels
  ) async throws -> (connection: RedisConnection, sentinel: ServerAddress) {
    var causes: [String] = []
    for address in sentinels.addresses {
      // The caller of `RedisClient.stop()` waits for this.
      try Task.checkCancellation()
      do {
        let sentinel = try await openDirectly(endpoint.sentinel(at: address, of: sentinels))
        defer { sentinel.close() }
        let primary = endpoint.primary(at: try await sentinel.primary(sentinels.primaryName))
        let connection = try await openDirectly(primary)
        do {
          try await connection.checkRole()
        } catch {
          connection.close()
          throw error
        }
        return (connection, address)
      } catch let error as RedisError {
        if error.isOfClusterMode { throw error }
        causes.append("\(error)")
      }
    }
    throw RedisError(
      .unreachable, operation: "find the primary", target: endpoint.description,
      cause: causes.isEmpty ? "there are no sentinels" : causes.joined(separator: "; "))
  }

  /// Asks a sentinel for the primary's address.
  func primary(_ name: String) async throws -> ServerAddress {
    let answer = try await send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name])
    guard let words = answer.array, words.count == 2, let host = words[0].string, !host.isEmpty,
      let port = words[1].integer, (1...65535).contains(port)
    else {
      throw RedisError(
        .reply, operation: "SENTINEL", target: endpoint.description, cause: "it watches no primary named \(name)")
    }
    return ServerAddress(host: host, port: Int(port))
  }

  /// Checks that this node calls itself a primary.
  private func checkRole() async throws {
    let role: RESPValue
    do {
      role = try await send(["ROLE"])
    } catch let error as RedisError where error.cause.hasPrefix("NOPERM") {
      return  // The test write shows whether it is a primary.
    }
    guard let name = role.array?.first?.string, name == "master" else {
      throw RedisError(
        .reply, operation: "ROLE", target: endpoint.description, cause: "the node is not a primary, or not yet")
    }
  }
}

extension RedisEndpoint {
  /// The endpoint of a sentinel. It has credentials of its own, no databases, and the same authority for TLS.
  func sentinel(at address: ServerAddress, of sentinels: RedisSentinels) -> RedisEndpoint {
    var endpoint = self
    endpoint.sentinels = nil
    (endpoint.address, endpoint.database) = (address, 0)
    (endpoint.user, endpoint.password) = (sentinels.user, sentinels.password)
    return endpoint
  }

  /// The endpoint of the primary.
  func primary(at address: ServerAddress) -> RedisEndpoint {
    var endpoint = self
    endpoint.sentinels = nil
    endpoint.address = address
    return endpoint
  }
}

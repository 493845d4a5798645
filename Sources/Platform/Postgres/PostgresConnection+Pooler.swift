import EventLoop

extension PostgresConnection {
  private static let process = PostgresQuery(PostgresStatement("serving process", "SELECT pg_backend_pid() AS process"))
  private static let begin = PostgresQuery(PostgresStatement("hold a session", "BEGIN"))
  private static let settings = PostgresStatement(
    "settings of the session", "SELECT name, setting FROM pg_settings WHERE name = ANY($1::text[])")

  /// Refuses a way to PostgreSQL on which transactions change the session, or lose its settings.
  ///
  /// On the direct way this is one short query. Only behind a pooler it opens another connection for a moment: while
  /// that one holds a transaction, a pooler in transaction mode must give this one another session.
  ///
  /// - Parameter open: opens another connection to the same address.
  func refusePooler(
    _ endpoint: PostgresEndpoint, _ open: () async throws -> PostgresConnection
  ) async throws(PostgresError) {
    do {
      try await check(endpoint, open)
    } catch let error as PostgresError where error.isAboutPreparation {
      // A new session has no prepared statements. This one has those of another client.
      throw refusal(.changingSession)
    } catch let error as PostgresError {
      throw error
    } catch {
      throw PostgresError(.unreachable, operation: "connect", target: target, cause: "\(error)")
    }
  }

  private func check(_ endpoint: PostgresEndpoint, _ open: () async throws -> PostgresConnection) async throws {
    let first = try await servingProcess()
    // PostgreSQL itself tells a client the number of the process that serves it. A pooler tells a number of its own.
    guard announcedProcess != first else { return }
    let wanted = ConnectParameters.settings(endpoint)
    let rows = try await run([PostgresQuery(Self.settings, [.texts(wanted.map(\.name))])])[0]
    let found = try rows.reduce(into: [String: String]()) { $0[try $1.text("name") ?? ""] = try $1.text("setting") }
    let other = try await open()
    defer { other.close(.closed, because: "the check is over") }
    _ = try await other.run([Self.begin, Self.process])
    let processes = [first, try await servingProcess()]
    if let fault = PoolerCheck.fault(wanted: wanted, found: found, processes: processes) { throw refusal(fault) }
  }

  private func refusal(_ fault: PoolerCheck.Fault) -> PostgresError {
    PostgresError(.unreachable, operation: "connect", target: target, cause: PoolerCheck.sentence(fault))
  }

  private func servingProcess() async throws -> Int32 {
    try await run([Self.process])[0].first?.int32("process") ?? 0
  }
}

/// The statements that one connection has prepared, or is about to prepare.
struct PreparedStatements {
  private struct Entry {
    let statement: PostgresStatement
    let types: [UInt32]
    let serverName: String
  }

  private var entries: [String: Entry] = [:]
  /// How often the connection had to forget statements.
  private var generation = 0

  /// The name under which the server knows a query's statement; `nil` if the connection must prepare it first.
  func serverName(of query: PostgresQuery) -> String? {
    guard let entry = entries[query.statement.name] else { return nil }
    // PostgreSQL would read the bytes of one type as another type, or run another statement, and say nothing.
    precondition(
      entry.statement.sql == query.statement.sql && entry.types.elementsEqual(query.parameters.lazy.map(\.type)),
      "statement \(query.statement.name) has two texts, or two lists of types")
    return entry.serverName
  }

  /// Adds the statement of a query, and returns the name for the server.
  mutating func add(_ query: PostgresQuery, _ types: [UInt32]) -> String {
    let name = query.statement.name
    // The server still has a statement that was forgotten, under its earlier name.
    let serverName = generation == 0 ? name : "\(name).\(generation)"
    entries[name] = Entry(statement: query.statement, types: types, serverName: serverName)
    return serverName
  }

  /// Forgets the statements of these queries, because the server does not have them, or has an outdated plan.
  mutating func forget(_ queries: [PostgresQuery]) {
    generation += 1
    for query in queries { entries[query.statement.name] = nil }
  }

  /// Forgets a statement that the server did not prepare.
  mutating func forget(_ name: String) { entries[name] = nil }
}

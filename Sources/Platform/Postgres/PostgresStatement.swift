/// An SQL statement that each connection prepares once, under its name.
public struct PostgresStatement: Sendable {
  /// The name, of at most 50 bytes. A client uses it for one text only.
  public let name: String
  /// The text, with `$1`, `$2`… for the parameters.
  public let sql: String

  /// Creates a statement.
  public init(_ name: String, _ sql: String) {
    // PostgreSQL cuts a name after 63 bytes, and a connection may append a number.
    precondition(name.utf8.count <= 50, "the name \(name) is too long")
    self.name = name
    self.sql = sql
  }
}

/// A statement and its parameters.
public struct PostgresQuery: Sendable {
  /// The statement.
  public let statement: PostgresStatement
  /// The parameters, in the order of the text.
  public let parameters: [PostgresParameter]

  /// Creates a query.
  public init(_ statement: PostgresStatement, _ parameters: [PostgresParameter] = []) {
    self.statement = statement
    self.parameters = parameters
  }
}

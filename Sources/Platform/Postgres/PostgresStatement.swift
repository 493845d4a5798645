/// An SQL statement that each connection prepares once, under its name.
public struct PostgresStatement: Sendable {
  /// The name, of at most 50 bytes. A client uses it for one text only.
  public let name: String
  /// The text, with `$1`, `$2`… for the parameters.
  public let sql: String
  /// Whether the statement finds its rows by their keys alone, whatever the parameters are.
  ///
  /// PostgreSQL then plans it once for a connection, with indexes, and not again at each execution (decision 0051).
  public let isByKeys: Bool

  /// Creates a statement.
  public init(_ name: String, isByKeys: Bool = false, _ sql: String) {
    // PostgreSQL cuts a name after 63 bytes, and a connection may append a number.
    precondition(name.utf8.count <= 50, "the name \(name) is too long")
    self.name = name
    self.sql = sql
    self.isByKeys = isByKeys
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

  /// Makes PostgreSQL keep the plans of the same transaction.
  ///
  /// Without the second setting, a plan of a moment at which a table was empty would read all of the table later.
  static let keepPlans = PostgresQuery(
    PostgresStatement(
      "keep plans",
      "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"))
}

import EventLoop
import Postgres
import Testing

extension PostgresClient {
  /// The lines of the plan that the only connection keeps of a prepared statement.
  ///
  /// - Parameters:
  ///   - condition: which one, in SQL about `pg_prepared_statements`.
  ///   - parameters: those of the statement, in SQL; NULLs by default.
  ///   - other: a query that goes before it in the same transaction. One by keys lets the transaction use the kept
  ///     plan, whatever the parameters are.
  @LoopActor
  func keptPlan(
    where condition: String, _ parameters: String? = nil, after other: PostgresQuery
  ) async throws -> [String] {
    let found = try await run(
      "SELECT name, cardinality(parameter_types) AS count FROM pg_prepared_statements WHERE \(condition)")
    let row = try #require(found.first)
    let (name, count) = (try #require(try row.text("name")), Int(try row.int64("count") ?? 0))
    let words = parameters ?? Array(repeating: "NULL", count: count).joined(separator: ", ")
    let explain = "EXPLAIN EXECUTE \"\(name)\" (\(words))"
    let plan = try await transaction { transaction in
      _ = try await transaction.query([other])
      return try await transaction.query(PostgresQuery(PostgresStatement("test \(explain.hashValue)", explain)))
    }
    return try plan.map { try $0.text("QUERY PLAN") ?? "" }
  }
}

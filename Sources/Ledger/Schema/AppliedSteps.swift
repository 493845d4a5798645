import EventLoop
import Postgres

/// The table of the steps that a database has.
enum AppliedSteps {
  /// Creates the table. Only a caller with the lock of a migration may do this.
  static let create = PostgresQuery(
    PostgresStatement(
      "schema.create",
      """
      CREATE TABLE IF NOT EXISTS schema_steps (
        number integer PRIMARY KEY,
        name text NOT NULL,
        is_breaking boolean NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
      )
      """))

  static func insert(_ step: SchemaStep) -> PostgresQuery {
    PostgresQuery(
      PostgresStatement("schema.insert", "INSERT INTO schema_steps (number, name, is_breaking) VALUES ($1, $2, $3)"),
      [.int32(step.number), .text(step.name), .bool(step.isBreaking)])
  }

  private static let exists = PostgresQuery(
    PostgresStatement("schema.exists", "SELECT to_regclass('schema_steps') IS NOT NULL AS is_there"))
  private static let select = PostgresQuery(
    PostgresStatement("schema.select", "SELECT number, name, is_breaking FROM schema_steps ORDER BY number"))

  /// Reads the steps; none from a database without the table.
  @LoopActor
  static func read(_ run: @LoopActor (PostgresQuery) async throws -> PostgresRows) async throws -> [AppliedStep] {
    guard try await run(exists).first?.bool("is_there") == true else { return [] }
    return try await run(select).map { row in
      AppliedStep(
        number: try row.int32("number") ?? 0, name: try row.text("name") ?? "",
        isBreaking: try row.bool("is_breaking") ?? true)
    }
  }
}

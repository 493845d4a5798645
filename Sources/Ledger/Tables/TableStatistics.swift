public import EventLoop
import Formats
public import Postgres

/// Lets PostgreSQL analyze the tables that have grown much since it has analyzed them.
///
/// For example, a new ledger gets 3,000 purchases a second. PostgreSQL plans a statement by the rows that it knows of,
/// and keeps this plan (decision 0051). Of a table without rows each plan looks equally good, and it may take one that
/// reads all rows of a publisher for each key. Its autovacuum analyzes tables once a minute. Until then, each commit
/// would take longer than the one before (decision 0069).
@LoopActor
public struct TableStatistics {
  private let postgres: PostgresClient

  /// After how many commits of jobs a process looks besides its regular looks. With fewer, any plan is fast.
  public nonisolated static let looks = Doublings(from: 250)

  /// Creates statistics over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Looks once. Returns the tables that have grown; PostgreSQL leaves those alone that another process analyzes.
  ///
  /// - Throws: `PostgresError`, the first one. The other tables are analyzed all the same.
  public func analyzeGrownTables() async throws -> [String] {
    let names = LedgerTables.all.map(\.name)
    let rows = try await alone(PostgresQuery(.grownTables, [.texts(names)]))
    let tables = try rows.compactMap { try $0.text("name") }
      .filter { names.containsExactly($0) || AttemptPartitions.day($0) != nil }
    var failure: (any Error)?
    for table in tables {
      do { _ = try await alone(PostgresQuery(.analyze(table))) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
    return tables
  }

  /// Runs a statement in a transaction, so that its connection is nobody else's: it may wait for a lock, and nothing
  /// should wait behind it.
  ///
  /// It commits in the same trip. A rollback of `ANALYZE` would keep the numbers of rows, and lose all else.
  private func alone(_ query: PostgresQuery) async throws -> PostgresRows {
    try await postgres.transaction { try await $0.commit([query])[0] }
  }
}

extension PostgresStatement {
  /// The tables of this user that have more than four times the pages that PostgreSQL knows of, and few enough to read
  /// them in a moment. The size is that of the file: no process needs to have told anything.
  fileprivate static let grownTables = PostgresStatement(
    "grown tables",
    """
    SELECT c.relname::text AS name FROM pg_class c
    WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'
      AND (c.relname = ANY($1) OR c.relname LIKE 'attempts\\_%') AND pg_has_role(c.relowner, 'USAGE')
      AND pg_relation_size(c.oid) / current_setting('block_size')::bigint
        BETWEEN 4 * (c.relpages::bigint + 1) AND 4096
    ORDER BY c.relname
    """)

  fileprivate static func analyze(_ table: String) -> PostgresStatement {
    PostgresStatement("analyze \(table)", "ANALYZE (SKIP_LOCKED) \(table)")
  }
}

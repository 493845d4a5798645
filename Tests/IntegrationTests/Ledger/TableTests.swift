import EventLoop
import Fleets
import Postgres
import ServerSupport
import Testing

@testable import Ledger

/// The descriptions of the tables, beside the schema that the migrations make.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct TableTests {
  @Test func `each description has the tables and the columns of the migrated schema`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let rows = try await ledger.execute(
        """
        SELECT c.relname::text AS table, a.attname::text AS column, a.attnotnull AS is_required,
          CASE format_type(a.atttypid, a.atttypmod) WHEN 'timestamp with time zone' THEN 'timestamptz'
            ELSE format_type(a.atttypid, a.atttypmod) END AS type
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'schema_steps'
        """)
      let schema = try rows.map { row in
        let null = try row.bool("is_required") == true ? " NOT NULL" : ""
        return "\(try row.text("table") ?? "").\(try row.text("column") ?? "") \(try row.text("type") ?? "")\(null)"
      }
      let described = LedgerTables.all.flatMap { table in
        table.columns.map { "\(table.name).\($0.name) \($0.type)\($0.isNullable ? "" : " NOT NULL")" }
      }
      #expect(Set(described).subtracting(schema).sorted() == [], "only described")
      #expect(Set(schema).subtracting(described).sorted() == [], "only in the schema")
      #expect(described.count == Set(described).count)
    }
  }

  @Test func `each description has the primary key of the migrated schema`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let rows = try await ledger.execute(
        """
        SELECT c.conrelid::regclass::text AS table, array_agg(a.attname::text) AS key
        FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey)
        WHERE c.contype = 'p' AND c.connamespace = 'public'::regnamespace
        GROUP BY c.conrelid
        """)
      let keys = try Dictionary(
        uniqueKeysWithValues: rows.map { (try $0.text("table") ?? "", Set(try $0.texts("key") ?? [])) })
      for table in LedgerTables.all { #expect(keys[table.name] == Set(table.key), "\(table.name)") }
    }
  }

  /// Columns with these names tell about a person, in whichever table.
  private static let personal = [
    "customer_id", "email", "email_key", "app_account_token", "attributes", "answer", "job",
  ]

  /// In `refund_requests`, `answer` is what Apple gets. It is about a transaction.
  private static let impersonal = ["refund_requests.answer"]

  @Test func `each column about a person is erased, or shown by an export`() {
    var erased = 0
    for table in LedgerTables.all {
      for column in table.columns {
        let name = "\(table.name).\(column.name)"
        guard let person = column.person else {
          #expect(!Self.personal.contains(column.name) || Self.impersonal.contains(name), "\(name) says nothing")
          continue
        }
        if case .stays = person {
          #expect(column.isExported, "\(name) stays, and no export shows it")
        } else {
          erased += 1
        }
      }
    }
    #expect(erased > 10)
  }
}

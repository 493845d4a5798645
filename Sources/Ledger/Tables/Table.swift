import Postgres

/// A table of the ledger, described once: its key and its columns. The statements that write and read records, and what
/// an export and an erasure do with the table, follow from it.
///
///     static let table = Table<TransactionRow>("transactions", key: ["publisher_id", "transaction_id"]) { columns in
///       columns.required("publisher_id", .publisher, { $0.key.publisherId }, { $0.key.publisherId = $1 })
///       columns.optional("currency", .text, { $0.facts.currency }, { $0.facts.currency = $1 }, export: "currency")
///     }
///
/// A new column is one such line and a step of the schema (`docs/internals/a-new-column.md`). `TableTests` compares
/// each description with the migrated schema.
///
/// In the statements the table is `t`. The records come as one array for each column, as a table `n`: so a statement is
/// prepared once, however many records it writes.
struct Table<Record: Sendable>: Sendable {
  let name: String
  /// The columns of the primary key.
  let key: [String]
  let columns: [Column<Record>]
  /// The columns that records read, and how.
  let readNames: [StaticString]
  let readers: [Column<Record>.Read]
  private let writtenColumns: [Column<Record>]
  private let writers: [Column<Record>.Write]

  /// Describes a table.
  init(_ name: String, key: [String], _ describe: (inout Columns<Record>) -> Void) {
    var columns = Columns<Record>()
    describe(&columns)
    self.init(name, key, columns.all)
  }

  private init(_ name: String, _ key: [String], _ columns: [Column<Record>]) {
    (self.name, self.key, self.columns) = (name, key, columns)
    readNames = columns.filter { $0.read != nil }.map(\.name)
    readers = columns.compactMap(\.read)
    writtenColumns = columns.filter { $0.write != nil }
    writers = columns.compactMap(\.write)
  }

  /// The table with its key and some of its other columns.
  func only(_ names: String...) -> Table {
    let wanted = Set(key + names)
    let some = columns.filter { wanted.contains($0.name.description) }
    precondition(some.count == wanted.count, "\(name) has not all of the columns \(names)")
    return Table(name, key, some)
  }

  // MARK: SQL

  /// The columns that records read, of a row of a table or an alias.
  func selected(_ alias: String) -> String {
    columns.filter { $0.read != nil }.map { column in
      column.computed.map { "\($0(alias)) AS \(column.name)" } ?? "\(alias).\(column.name)"
    }.joined(separator: ", ")
  }

  /// The names of the columns that records write.
  var names: String { writtenColumns.map(\.name.description).joined(separator: ", ") }

  /// The records of ``parameters(_:)``, as a table `n`.
  var source: String { source() }

  /// The records with further columns, whose arrays follow those of ``parameters(_:)``.
  func source(adding more: (name: String, type: String)...) -> String {
    let all = writtenColumns.map { (name: $0.name.description, type: $0.type) } + more
    let arrays = all.enumerated().map { "$\($0 + 1)::\($1.type)[]" }
    return "unnest(\(arrays.joined(separator: ", "))) AS n (\(all.map(\.name).joined(separator: ", ")))"
  }

  /// The number of the first parameter behind those of ``parameters(_:)``.
  var nextParameter: Int { writtenColumns.count + 1 }

  /// That a row `t` and a record `n` have the same key.
  var isSame: String { key.map { "t.\($0) = n.\($0)" }.joined(separator: " AND ") }

  /// What an update of a row `t` sets: every written column but the key.
  var assignments: String { assignments(from: "n") }

  private func assignments(from new: String) -> String {
    writtenColumns.filter { !key.contains($0.name.description) }
      .map { "\($0.name) = \($0.merge.sql($0.name, present: "t", new: new))" }.joined(separator: ", ")
  }

  /// Inserts records. It fails if a key is there already, and PostgreSQL's log then has the key.
  func insert(_ statement: String) -> PostgresStatement {
    PostgresStatement(statement, "INSERT INTO \(name) (\(names)) SELECT * FROM \(source)")
  }

  /// Inserts records whose keys name customers. It fails if a key is there already, and PostgreSQL's log then has none.
  func insertUnnamed(_ statement: String) -> PostgresStatement {
    PostgresStatement(
      statement,
      """
      WITH added AS (
        INSERT INTO \(name) (\(names)) SELECT * FROM \(source)
        ON CONFLICT (\(key.joined(separator: ", "))) DO NOTHING RETURNING 1)
      SELECT refuse_overtaken() FROM (SELECT count(*) AS count FROM added) all_added WHERE count < cardinality($1)
      """)
  }

  /// Inserts records, and updates those whose key is there already.
  func upsert(_ statement: String) -> PostgresStatement {
    PostgresStatement(
      statement,
      """
      INSERT INTO \(name) AS t (\(names)) SELECT * FROM \(source)
      ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(assignments(from: "excluded"))
      """)
  }

  /// Updates the rows of records. The caller has locked them.
  func update(_ statement: String) -> PostgresStatement {
    PostgresStatement(statement, "UPDATE \(name) t SET \(assignments) FROM \(source) WHERE \(isSame)")
  }

  /// The arrays of ``source``.
  func parameters(_ records: [Record]) -> [PostgresParameter] { writers.map { $0(records) } }

  // MARK: One row

  /// The numbers of ``values(_:)``.
  var placeholders: String { writtenColumns.indices.map { "$\($0 + 1)" }.joined(separator: ", ") }

  /// That a row has the key of ``values(_:)``.
  var hasKey: String {
    writtenColumns.enumerated().filter { key.contains($1.name.description) }
      .map { "\($1.name) = $\($0 + 1)" }.joined(separator: " AND ")
  }

  /// A record's values, for a statement that writes one row.
  func values(_ record: Record) -> [PostgresParameter] { writtenColumns.compactMap { $0.writeOne?(record) } }

  // MARK: People

  /// What an erasure sets in a row.
  var erasure: String {
    columns.compactMap { column in column.person?.sql.map { "\(column.name) = \($0)" } }.joined(separator: ", ")
  }

  /// A row as an export shows it.
  ///
  /// - Parameters:
  ///   - first: the members that come before the others. The others are in the order of their names.
  ///   - more: members that are no columns of their own.
  func document(first: [String] = [], adding more: [RowDocument.Column] = []) -> RowDocument {
    let members = columns.compactMap { column in
      column.export.map { RowDocument.Column($0.sql ?? column.name.description, $0.member, $0.form ?? .text) }
    }
    func place(_ column: RowDocument.Column) -> (Int, String) {
      (first.firstIndex(of: column.member.description) ?? first.count, column.member.description)
    }
    return RowDocument((members + more).sorted { place($0) < place($1) })
  }
}

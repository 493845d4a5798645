import Postgres

/// A column of a table: its name and type, and how a record's value comes into it and out of it.
struct Column<Record: Sendable>: Sendable {
  typealias Write = @Sendable ([Record]) -> PostgresParameter
  typealias Read = @Sendable (PostgresRow, PostgresColumn, inout Record) throws -> Void

  let name: StaticString
  /// The type as SQL names it.
  let type: String
  let isNullable: Bool
  /// The records' values as a parameter, an array; `nil` for a column that the records do not write.
  let write: Write?
  /// A record's value as a parameter, for statements that write one row; `nil` as for ``write``.
  let writeOne: (@Sendable (Record) -> PostgresParameter)?
  /// Reads a value into a record; `nil` for a column that the records do not read.
  let read: Read?
  /// What becomes of the value if a row with the key is there already, or is updated.
  let merge: ColumnMerge
  let export: ColumnExport?
  let person: ColumnErasure?
  /// What is read if the table has no such column, for an alias of the table; `nil` for a column of the table.
  var computed: (@Sendable (String) -> String)?
}

/// What an update, or an insert of a key that is there already, does to the value of a column.
enum ColumnMerge: Sendable {
  /// The new value takes its place.
  case newest
  /// It stays, unless it is NULL.
  case first
  case greatest

  /// The value in SQL.
  func sql(_ name: StaticString, present: String, new: String) -> String {
    switch self {
    case .newest: "\(new).\(name)"
    case .first: "coalesce(\(present).\(name), \(new).\(name))"
    case .greatest: "greatest(\(present).\(name), \(new).\(name))"
    }
  }
}

/// What an erasure does to a column that tells about a person. The erased person's rows are found by
/// `publisher_id = $1` and the customer's id, `$2`; the stand-in for the id is `$3`.
enum ColumnErasure: Sendable {
  /// The value becomes NULL.
  case cleared
  /// The stand-in takes the place of the customer's id.
  case standIn
  /// An expression takes its place.
  case rewritten(String)
  /// The row is deleted.
  case withRow
  /// It stays, for the reason that stands beside the column. An export must show it.
  case stays

  /// The new value in SQL; `nil` if no update writes one.
  var sql: String? {
    switch self {
    case .cleared: "NULL"
    case .standIn: "$3"
    case .rewritten(let expression): expression
    case .withRow, .stays: nil
    }
  }
}

/// The member of an export's JSON object that a column becomes. A literal is the member's name; the column's type says
/// how the value looks.
struct ColumnExport: Sendable, ExpressibleByStringLiteral {
  let member: StaticString
  let form: RowDocument.Form?
  /// What stands for the column in SQL, if not its name.
  let sql: String?

  init(_ member: StaticString, _ form: RowDocument.Form? = nil, sql: String? = nil) {
    (self.member, self.form, self.sql) = (member, form, sql)
  }

  init(stringLiteral member: StaticString) { self.init(member) }
}

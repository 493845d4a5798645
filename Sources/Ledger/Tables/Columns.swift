import Postgres

/// Describes the columns of a table, one call each.
///
/// The closures are literals at each call, and the methods are inlined there. So the compiler makes one loop over the
/// records for each column, as if it were written by hand. Key paths would need six times as long.
struct Columns<Record: Sendable> {
  private(set) var all: [Column<Record>] = []

  /// A column that is never NULL.
  @inline(__always)
  mutating func required<Kind: ColumnType>(
    _ name: StaticString, _ type: Kind, _ get: @escaping @Sendable (Record) -> Kind.Value,
    _ set: @escaping @Sendable (inout Record, Kind.Value) throws -> Void, merge: ColumnMerge = .newest,
    export: ColumnExport? = nil, person: ColumnErasure? = nil
  ) {
    all.append(
      Column(
        name: name, type: Kind.sql, isNullable: false, write: { records in Kind.array(records.map { get($0) }) },
        writeOne: { Kind.one(get($0)) },
        read: { row, column, record in
          guard let value = try Kind.read(row, column) else { throw UnreadableValue() }
          try set(&record, value)
        }, merge: merge, export: export.map { Self.export($0, Kind.form) }, person: person))
  }

  /// A column that may be NULL.
  @inline(__always)
  mutating func optional<Kind: ColumnType>(
    _ name: StaticString, _ type: Kind, _ get: @escaping @Sendable (Record) -> Kind.Value?,
    _ set: @escaping @Sendable (inout Record, Kind.Value?) throws -> Void, merge: ColumnMerge = .newest,
    export: ColumnExport? = nil, person: ColumnErasure? = nil
  ) {
    all.append(
      Column(
        name: name, type: Kind.sql, isNullable: true, write: { records in Kind.array(records.map { get($0) }) },
        writeOne: { Kind.one(get($0)) },
        read: { row, column, record in try set(&record, try Kind.read(row, column)) }, merge: merge,
        export: export.map { Self.export($0, Kind.form) }, person: person))
  }

  /// A column that the records write and do not read.
  @inline(__always)
  mutating func written<Kind: ColumnType>(
    _ name: StaticString, _ type: Kind, isNullable: Bool = false, merge: ColumnMerge = .newest,
    export: ColumnExport? = nil, person: ColumnErasure? = nil, _ get: @escaping @Sendable (Record) -> Kind.Value?
  ) {
    all.append(
      Column(
        name: name, type: Kind.sql, isNullable: isNullable, write: { records in Kind.array(records.map { get($0) }) },
        writeOne: { Kind.one(get($0)) },
        read: nil, merge: merge, export: export.map { Self.export($0, Kind.form) }, person: person))
  }

  /// A column that the records read, never NULL. A default or another statement writes it.
  @inline(__always)
  mutating func read<Kind: ColumnType>(
    _ name: StaticString, _ type: Kind, export: ColumnExport? = nil, person: ColumnErasure? = nil,
    _ set: @escaping @Sendable (inout Record, Kind.Value) throws -> Void
  ) {
    all.append(
      Column(
        name: name, type: Kind.sql, isNullable: false, write: nil, writeOne: nil,
        read: { row, column, record in
          guard let value = try Kind.read(row, column) else { throw UnreadableValue() }
          try set(&record, value)
        }, merge: .newest, export: export.map { Self.export($0, Kind.form) }, person: person))
  }

  /// A column that may be NULL and that the records read. A default or another statement writes it.
  @inline(__always)
  mutating func readOptional<Kind: ColumnType>(
    _ name: StaticString, _ type: Kind, export: ColumnExport? = nil, person: ColumnErasure? = nil,
    _ set: @escaping @Sendable (inout Record, Kind.Value?) throws -> Void
  ) {
    all.append(
      Column(
        name: name, type: Kind.sql, isNullable: true, write: nil, writeOne: nil,
        read: { row, column, record in try set(&record, try Kind.read(row, column)) }, merge: .newest,
        export: export.map { Self.export($0, Kind.form) }, person: person))
  }

  /// What the records read beside the columns of the table, for example from another table. It may be NULL.
  ///
  /// - Parameter sql: the expression, for an alias of the table.
  @inline(__always)
  mutating func computed<Kind: ColumnType>(
    _ name: StaticString, _ type: Kind, _ sql: @escaping @Sendable (String) -> String,
    _ set: @escaping @Sendable (inout Record, Kind.Value?) throws -> Void
  ) {
    all.append(
      Column(
        name: name, type: Kind.sql, isNullable: true, write: nil, writeOne: nil,
        read: { row, column, record in try set(&record, try Kind.read(row, column)) }, merge: .newest, export: nil,
        person: nil, computed: sql))
  }

  /// A column that other statements read and write.
  ///
  /// - Parameter type: as SQL names it.
  mutating func other(
    _ name: StaticString, _ type: String, isNullable: Bool = false, export: ColumnExport? = nil,
    person: ColumnErasure? = nil
  ) {
    let form: RowDocument.Form =
      switch type {
      case "bigint", "integer": .number
      case "boolean": .flag
      case "timestamptz": .time
      case "uuid": .uuid
      case "bytea": .json
      default: .text
      }
    all.append(
      Column(
        name: name, type: type, isNullable: isNullable, write: nil, writeOne: nil, read: nil, merge: .newest,
        export: export.map { Self.export($0, form) }, person: person))
  }

  private static func export(_ export: ColumnExport, _ form: RowDocument.Form) -> ColumnExport {
    ColumnExport(export.member, export.form ?? form, sql: export.sql)
  }
}

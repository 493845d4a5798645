import JSON
import Postgres

/// A type of PostgreSQL, with the Swift values that stand for it: as parameters, and in results.
protocol ColumnType<Value>: Sendable {
  associatedtype Value
  /// Its name in SQL.
  static var sql: String { get }
  /// How an export shows a value.
  static var form: RowDocument.Form { get }
  static func one(_ value: Value?) -> PostgresParameter
  static func array(_ values: [Value?]) -> PostgresParameter
  /// - Throws: `PostgresError` for a column of another type; ``UnreadableValue``.
  static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Value?
}

/// A value that this process cannot read, or the lack of one.
struct UnreadableValue: Error {}

enum ColumnTypes {
  struct BigInt: ColumnType {
    static let sql = "bigint"
    static let form = RowDocument.Form.number
    static func one(_ value: Int64?) -> PostgresParameter { .int64(value) }
    static func array(_ values: [Int64?]) -> PostgresParameter { .int64s(values) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Int64? { try row.int64(column) }
  }

  struct Integer: ColumnType {
    static let sql = "integer"
    static let form = RowDocument.Form.number
    static func one(_ value: Int32?) -> PostgresParameter { .int32(value) }
    static func array(_ values: [Int32?]) -> PostgresParameter { .int32s(values) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Int32? { try row.int32(column) }
  }

  struct Boolean: ColumnType {
    static let sql = "boolean"
    static let form = RowDocument.Form.flag
    static func one(_ value: Bool?) -> PostgresParameter { .bool(value) }
    static func array(_ values: [Bool?]) -> PostgresParameter { .bools(values) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Bool? { try row.bool(column) }
  }

  struct Text: ColumnType {
    static let sql = "text"
    static let form = RowDocument.Form.text
    static func one(_ value: String?) -> PostgresParameter { .text(value) }
    static func array(_ values: [String?]) -> PostgresParameter { .texts(values) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> String? { try row.text(column) }
  }

  /// A `text` that is one of the names of an enumeration.
  struct Name<Value: RawRepresentable<String>>: ColumnType {
    static var sql: String { "text" }
    static var form: RowDocument.Form { .text }
    static func one(_ value: Value?) -> PostgresParameter { .text(value?.rawValue) }
    static func array(_ values: [Value?]) -> PostgresParameter { .texts(values.map { $0?.rawValue }) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Value? {
      guard let text = try row.text(column) else { return nil }
      guard let value = Value(rawValue: text) else { throw UnreadableValue() }
      return value
    }
  }

  /// Milliseconds since 1970.
  struct Time: ColumnType {
    static let sql = "timestamptz"
    static let form = RowDocument.Form.time
    static func one(_ value: Int64?) -> PostgresParameter { .time(value) }
    static func array(_ values: [Int64?]) -> PostgresParameter { .times(values) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Int64? { try row.time(column) }
  }

  /// Nearly all of them are JSON.
  struct Bytes: ColumnType {
    static let sql = "bytea"
    static let form = RowDocument.Form.json
    static func one(_ value: [UInt8]?) -> PostgresParameter { .bytes(value) }
    static func array(_ values: [[UInt8]?]) -> PostgresParameter { .bytes(values) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> [UInt8]? { try row.bytes(column) }
  }
}

extension ColumnType where Self == ColumnTypes.BigInt { static var bigint: Self { Self() } }
extension ColumnType where Self == ColumnTypes.Integer { static var integer: Self { Self() } }
extension ColumnType where Self == ColumnTypes.Boolean { static var boolean: Self { Self() } }
extension ColumnType where Self == ColumnTypes.Text { static var text: Self { Self() } }
extension ColumnType where Self == ColumnTypes.Time { static var timestamptz: Self { Self() } }
extension ColumnType where Self == ColumnTypes.Bytes { static var bytea: Self { Self() } }
extension ColumnType {
  static func name<Value>(of type: Value.Type) -> Self where Self == ColumnTypes.Name<Value> { Self() }
}

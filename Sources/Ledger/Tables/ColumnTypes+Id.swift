import Domain
import Postgres

extension ColumnTypes {
  /// A `text` that is an id.
  struct Id<Value: Identifier>: ColumnType {
    static var sql: String { "text" }
    static var form: RowDocument.Form { .text }
    static func one(_ value: Value?) -> PostgresParameter { .id(value) }
    static func array(_ values: [Value?]) -> PostgresParameter { .texts(values.map { $0?.text }) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Value? {
      try row.text(column).map(Value.init(_:))
    }
  }

  /// A `text[]` of ids, only for statements that write one row: the server would take an array of arrays apart.
  struct Ids<Value: Identifier>: ColumnType {
    static var sql: String { "text[]" }
    static var form: RowDocument.Form { .text }
    static func one(_ value: [Value]?) -> PostgresParameter { .ids(value ?? []) }
    static func array(_ values: [[Value]?]) -> PostgresParameter {
      preconditionFailure("rows with a text[] are written one by one")
    }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> [Value]? { try row.ids(column) }
  }

  /// A `uuid` that is an id, in lower case.
  struct UUID<Value: Identifier>: ColumnType {
    static var sql: String { "uuid" }
    static var form: RowDocument.Form { .uuid }
    static func one(_ value: Value?) -> PostgresParameter { .uuid(value?.text) }
    static func array(_ values: [Value?]) -> PostgresParameter { .uuids(values.map { $0?.text }) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> Value? {
      try row.uuid(column).map(Value.init(_:))
    }
  }

  /// A `bigint` that is a publisher's id.
  struct Publisher: ColumnType {
    static let sql = "bigint"
    static let form = RowDocument.Form.number
    static func one(_ value: PublisherId?) -> PostgresParameter { .id(value) }
    static func array(_ values: [PublisherId?]) -> PostgresParameter { .int64s(values.map { $0?.number }) }
    static func read(_ row: PostgresRow, _ column: PostgresColumn) throws -> PublisherId? { try row.id(column) }
  }
}

extension ColumnType {
  static func id<Value>(of type: Value.Type) -> Self where Self == ColumnTypes.Id<Value> { Self() }
  static func ids<Value>(of type: Value.Type) -> Self where Self == ColumnTypes.Ids<Value> { Self() }
  static func uuid<Value>(of type: Value.Type) -> Self where Self == ColumnTypes.UUID<Value> { Self() }
}
extension ColumnType where Self == ColumnTypes.Publisher { static var publisher: Self { Self() } }

extension PostgresParameter {
  /// An id as a `text`.
  static func id(_ id: (some Identifier)?) -> PostgresParameter { .text(id?.text) }
  /// Ids as a `text[]`.
  static func ids(_ ids: [some Identifier]) -> PostgresParameter { .texts(ids.map(\.text)) }
  /// A publisher's id as a `bigint`.
  static func id(_ id: PublisherId?) -> PostgresParameter { .int64(id?.number) }
  /// Publishers' ids as a `bigint[]`.
  static func ids(_ ids: [PublisherId]) -> PostgresParameter { .int64s(ids.map(\.number)) }
}

extension PostgresRow {
  /// The id in a column; `nil` for NULL.
  func id<Value: Identifier>(_ name: PostgresColumn) throws -> Value? { try text(name).map(Value.init(_:)) }

  /// The ids in a `text[]`; `nil` for NULL.
  func ids<Value: Identifier>(_ name: PostgresColumn) throws -> [Value]? {
    try texts(name).map { $0.map(Value.init(_:)) }
  }

  /// The publisher's id in a column; `nil` for NULL.
  func id(_ name: PostgresColumn) throws -> PublisherId? { try int64(name).map(PublisherId.init(_:)) }
}

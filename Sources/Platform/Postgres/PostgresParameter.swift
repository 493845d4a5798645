/// A parameter of a query, in PostgreSQL's binary form and with its type.
public struct PostgresParameter: Sendable {
  /// A value. Only an array has its bytes already.
  enum Value: Sendable {
    case null
    case int32(Int32)
    case int64(Int64)
    case bool(Bool)
    case text(String)
    case bytes([UInt8])
    case uuid(UInt64, UInt64)
    case notUUID
  }

  /// The type's number.
  let type: UInt32
  let value: Value

  private init(_ type: PostgresType, _ value: Value?) {
    self.type = type.rawValue
    self.value = value ?? .null
  }

  private init(arrayOf type: PostgresType, _ bytes: [UInt8]) {
    self.type = type.array
    value = .bytes(bytes)
  }

  /// A `bigint`.
  public static func int64(_ value: Int64?) -> Self { Self(.int64, value.map(Value.int64)) }
  /// An `integer`.
  public static func int32(_ value: Int32?) -> Self { Self(.int32, value.map(Value.int32)) }
  /// A `boolean`.
  public static func bool(_ value: Bool?) -> Self { Self(.bool, value.map(Value.bool)) }
  /// A `text`. PostgreSQL refuses a text with a NUL character.
  public static func text(_ value: String?) -> Self { Self(.text, value.map(Value.text)) }
  /// A `bytea`.
  public static func bytes(_ value: [UInt8]?) -> Self { Self(.bytes, value.map(Value.bytes)) }
  /// A `timestamptz` of milliseconds since 1970. The largest and smallest numbers are `infinity` and `-infinity`.
  public static func time(_ milliseconds: Int64?) -> Self {
    Self(.time, milliseconds.map { .int64(PostgresTime.microseconds($0)) })
  }
  /// A `uuid`. PostgreSQL refuses a text that is not one (SQLSTATE 22P03).
  public static func uuid(_ value: String?) -> Self {
    Self(.uuid, value.map { text in PostgresUUID.bytes(text).map { .uuid($0, $1) } ?? .notUUID })
  }

  /// A `bigint[]`.
  public static func int64s(_ values: [Int64?]) -> Self {
    Self(arrayOf: .int64, ArrayEncoding.integers(.int64, values) { $0 })
  }
  /// An `integer[]`.
  public static func int32s(_ values: [Int32?]) -> Self {
    Self(arrayOf: .int32, ArrayEncoding.integers(.int32, values) { $0 })
  }
  /// A `boolean[]`.
  public static func bools(_ values: [Bool?]) -> Self {
    Self(arrayOf: .bool, ArrayEncoding.integers(.bool, values) { $0 ? 1 as UInt8 : 0 })
  }
  /// A `text[]`.
  public static func texts(_ values: [String?]) -> Self { Self(arrayOf: .text, ArrayEncoding.texts(values)) }
  /// A `bytea[]`.
  public static func bytes(_ values: [[UInt8]?]) -> Self { Self(arrayOf: .bytes, ArrayEncoding.bytes(values)) }
  /// A `timestamptz[]` of milliseconds since 1970.
  public static func times(_ milliseconds: [Int64?]) -> Self {
    Self(arrayOf: .time, ArrayEncoding.integers(.time, milliseconds, PostgresTime.microseconds))
  }
  /// A `uuid[]`.
  public static func uuids(_ values: [String?]) -> Self { Self(arrayOf: .uuid, ArrayEncoding.uuids(values)) }
}

/// A row of a result. A column has a name, and a value or NULL (`nil`).
///
/// The caller says which type the column has. A schema that somebody has changed, or a view, may give it another one:
/// then each method throws ``PostgresError`` with the code `unreadable`, and so it does if there is no such column.
public struct PostgresRow: Sendable {
  let result: PostgresResult
  let row: Int32

  /// A `bigint` or `integer`.
  public func int64(_ column: PostgresColumn) throws(PostgresError) -> Int64? {
    try value(column, "an integer") { bytes in
      switch bytes.count {
      case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
      case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
      default: nil
      }
    }
  }

  /// An `integer`, or a `bigint` that is not too large for one.
  public func int32(_ column: PostgresColumn) throws(PostgresError) -> Int32? {
    guard let value = try int64(column) else { return nil }
    guard let value = Int32(exactly: value) else { throw result.unreadable(column, "is too large for an integer") }
    return value
  }

  /// A `boolean`.
  public func bool(_ column: PostgresColumn) throws(PostgresError) -> Bool? {
    try value(column, "a boolean") { $0.count == 1 ? $0[0] != 0 : nil }
  }

  /// A `text`, `varchar`, `name` or `json`.
  public func text(_ column: PostgresColumn) throws(PostgresError) -> String? {
    try value(column, "a text") { String(decoding: $0, as: UTF8.self) }
  }

  /// A `bytea`.
  public func bytes(_ column: PostgresColumn) throws(PostgresError) -> [UInt8]? {
    try value(column, "bytes") { [UInt8]($0) }
  }

  /// A `timestamptz` in milliseconds since 1970, rounded down.
  ///
  /// `infinity` and `-infinity` are the largest and the smallest number.
  public func time(_ column: PostgresColumn) throws(PostgresError) -> Int64? {
    try value(column, "a time") { bytes in
      guard bytes.count == 8 else { return nil }
      return PostgresTime.milliseconds(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
    }
  }

  /// A `uuid`, in lower case.
  public func uuid(_ column: PostgresColumn) throws(PostgresError) -> String? {
    try value(column, "a UUID") { bytes in
      guard bytes.count == 16 else { return nil }
      return PostgresUUID.text(
        UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
  }

  /// A `text[]`, without the elements that are NULL.
  public func texts(_ column: PostgresColumn) throws(PostgresError) -> [String]? {
    try value(column, "an array of texts") { bytes in
      var texts: [String] = []
      let isArray = ArrayDecoding.forEach(bytes) {
        if let element = $0 { texts.append(String(decoding: element, as: UTF8.self)) }
      }
      return isArray ? texts : nil
    }
  }

  /// - Parameters:
  ///   - type: for the error.
  ///   - body: reads the bytes; `nil` says that they are of another type.
  @inline(__always)
  private func value<Value>(
    _ column: PostgresColumn, _ type: StaticString, _ body: (UnsafeRawBufferPointer) -> Value?
  ) throws(PostgresError) -> Value? {
    guard let bytes = try result.bytes(row, column) else { return nil }
    guard let value = withExtendedLifetime(result, { body(bytes) }) else {
      throw result.unreadable(column, "is not \(type)")
    }
    return value
  }
}

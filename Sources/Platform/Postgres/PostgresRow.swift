/// A row of a result. A column has a number, which begins with 0, and a value or NULL (`nil`).
///
/// The caller names the type of the column. Another type is a programming error, which stops the process.
public struct PostgresRow: Sendable {
  let result: PostgresResult
  let row: Int32

  /// A `bigint` or `integer`.
  public func int64(_ column: Int) -> Int64? {
    bytes(column) { bytes in
      switch bytes.count {
      case 8: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
      case 4: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
      default: preconditionFailure("column \(column) is not an integer")
      }
    }
  }

  /// An `integer`.
  public func int32(_ column: Int) -> Int32? { int64(column).map { Int32($0) } }

  /// A `boolean`.
  public func bool(_ column: Int) -> Bool? {
    bytes(column) { bytes in
      precondition(bytes.count == 1, "column \(column) is not a boolean")
      return bytes[0] != 0
    }
  }

  /// A `text`, `varchar`, `name` or `json`.
  public func text(_ column: Int) -> String? { bytes(column) { String(decoding: $0, as: UTF8.self) } }

  /// A `bytea`.
  public func bytes(_ column: Int) -> [UInt8]? { bytes(column) { [UInt8]($0) } }

  /// A `timestamptz` in milliseconds since 1970, rounded down.
  ///
  /// `infinity` and `-infinity` are the largest and the smallest number.
  public func time(_ column: Int) -> Int64? {
    bytes(column) { bytes in
      precondition(bytes.count == 8, "column \(column) is not a time")
      return PostgresTime.milliseconds(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
    }
  }

  /// A `uuid`, in lower case.
  public func uuid(_ column: Int) -> String? {
    bytes(column) { bytes in
      precondition(bytes.count == 16, "column \(column) is not a UUID")
      return PostgresUUID.text(
        UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
  }

  /// A `text[]`, without the elements that are NULL.
  public func texts(_ column: Int) -> [String]? {
    bytes(column) { bytes in
      var texts: [String] = []
      ArrayDecoding.forEach(bytes) { if let element = $0 { texts.append(String(decoding: element, as: UTF8.self)) } }
      return texts
    }
  }

  private func bytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value? {
    guard let bytes = result.bytes(row, column) else { return nil }
    return withExtendedLifetime(result) { body(bytes) }
  }
}

/// The parameters of one query as libpq takes them. Its memory stays for the next query.
struct ParameterBuffer {
  private var bytes: [UInt8] = []
  private var places: [Int] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []
  private var pointers: [UnsafePointer<CChar>?] = []

  /// The most bytes of memory that the buffer keeps.
  private static let kept = 1 << 20

  /// Gives `body` the arrays of libpq: the number of parameters, values, lengths and formats.
  mutating func withParameters<Value>(
    _ parameters: [PostgresParameter],
    _ body: (
      Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
    ) -> Value
  ) -> Value {
    write(parameters)
    return bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { bytes in
        pointers.removeAll(keepingCapacity: true)
        for place in places { pointers.append(place < 0 ? nil : bytes.baseAddress! + place) }
        return body(Int32(parameters.count), pointers, lengths, formats)
      }
    }
  }

  private mutating func write(_ parameters: [PostgresParameter]) {
    places.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    while formats.count < parameters.count { formats.append(1) }
    var size = 0
    for parameter in parameters {
      let length = parameter.value.length
      places.append(length.map { _ in size } ?? -1)
      lengths.append(Int32(clamping: length ?? 0))
      size += length ?? 0
    }
    precondition(size < 1 << 30, "PostgreSQL takes no query of a gigabyte")
    // One byte more, so that an empty value has an address too.
    if bytes.count < size + 1 || bytes.count > Self.kept { bytes = [UInt8](repeating: 0, count: max(size + 1, 4096)) }
    bytes.withUnsafeMutableBytes { bytes in
      var writer = ByteWriter(bytes)
      for parameter in parameters { parameter.value.append(to: &writer) }
    }
  }
}

extension PostgresParameter.Value {
  /// The number of bytes; `nil` for NULL.
  var length: Int? {
    switch self {
    case .null: nil
    case .bool: 1
    case .int32: 4
    case .int64: 8
    case .text(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    case .uuid: 16
    case .notUUID: 17
    }
  }

  /// Writes the bytes.
  func append(to writer: inout ByteWriter) {
    switch self {
    case .null: break
    case .bool(let value): writer.append(value ? 1 as UInt8 : 0)
    case .int32(let value): writer.append(value)
    case .int64(let value): writer.append(value)
    case .text(let text): writer.append(text)
    case .bytes(let bytes): writer.append(bytes)
    case .uuid(let high, let low):
      writer.append(high)
      writer.append(low)
    case .notUUID: for _ in 0..<17 { writer.append(0 as UInt8) }
    }
  }
}

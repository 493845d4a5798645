/// The binary form of a one-dimensional array (`array_send` in PostgreSQL): a head, then each element behind its
/// length.
enum ArrayEncoding {
  /// The length that says that an element is NULL.
  private static let null: Int32 = -1

  /// Encodes elements of a fixed width.
  static func integers<Element, Wire: FixedWidthInteger>(
    _ type: PostgresType, _ values: [Element?], _ wire: (Element) -> Wire
  ) -> [UInt8] {
    let width = MemoryLayout<Wire>.size
    return encode(type, values, capacity: values.count * (4 + width)) { value, buffer in
      buffer.append(Int32(width))
      buffer.append(wire(value))
    }
  }

  /// Encodes texts.
  static func texts(_ values: [String?]) -> [UInt8] {
    let size = values.reduce(0) { $0 + 4 + ($1?.utf8.count ?? 0) }
    return encode(.text, values, capacity: size) { value, buffer in
      buffer.append(Int32(value.utf8.count))
      buffer.append(value)
    }
  }

  /// Encodes byte strings.
  static func bytes(_ values: [[UInt8]?]) -> [UInt8] {
    let size = values.reduce(0) { $0 + 4 + ($1?.count ?? 0) }
    return encode(.bytes, values, capacity: size) { value, buffer in
      buffer.append(Int32(value.count))
      buffer.append(value)
    }
  }

  /// Encodes UUIDs.
  static func uuids(_ values: [String?]) -> [UInt8] {
    encode(.uuid, values, capacity: values.count * 21) { value, buffer in
      guard let (high, low) = PostgresUUID.bytes(value) else { return buffer.appendNoUUID() }
      buffer.append(Int32(16))
      buffer.append(high)
      buffer.append(low)
    }
  }

  private static func encode<Element>(
    _ type: PostgresType, _ values: [Element?], capacity: Int, _ append: (Element, inout ByteWriter) -> Void
  ) -> [UInt8] {
    let head = 20
    return [UInt8](unsafeUninitializedCapacity: head + capacity) { memory, count in
      var writer = ByteWriter(UnsafeMutableRawBufferPointer(memory))
      writer.append(Int32(values.isEmpty ? 0 : 1))
      writer.append(Int32(values.contains { $0 == nil } ? 1 : 0))
      writer.append(type.rawValue)
      if !values.isEmpty {
        writer.append(Int32(values.count))
        writer.append(Int32(1))
      }
      for value in values {
        if let value { append(value, &writer) } else { writer.append(null) }
      }
      count = writer.count
    }
  }
}

import CRabbitMQ

/// Owns the C memory for the strings and tables of one call, and frees it after the call.
struct ArgumentArena: ~Copyable {
  private var blocks: [UnsafeMutableRawBufferPointer] = []
  /// The number of bytes of the last block that are in use.
  private var used = 0

  deinit { for block in blocks { block.deallocate() } }

  mutating func bytes(_ text: String) -> amqp_bytes_t {
    var text = text
    return text.withUTF8 { bytes(UnsafeRawBufferPointer($0)) }
  }

  private mutating func bytes(_ source: UnsafeRawBufferPointer) -> amqp_bytes_t {
    guard !source.isEmpty else { return amqp_bytes_t(len: 0, bytes: nil) }
    let room = take(source.count)
    room.copyMemory(from: source)
    return amqp_bytes_t(len: source.count, bytes: room.baseAddress)
  }

  /// Returns room for this number of bytes, aligned for every type.
  private mutating func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if used + count > blocks.last?.count ?? 0 {
      blocks.append(.allocate(byteCount: max(2048, count), alignment: 16))
      used = 0
    }
    defer { used += (count + 15) / 16 * 16 }
    return UnsafeMutableRawBufferPointer(rebasing: blocks[blocks.count - 1][used..<(used + count)])
  }

  /// - Parameter tables: the tables inside the table.
  mutating func table(_ source: [String: AMQPValue], tables: [String: [String: AMQPValue]] = [:]) -> amqp_table_t {
    let count = source.count + tables.count
    guard count > 0 else { return amqp_table_t(num_entries: 0, entries: nil) }
    let entries = take(count * MemoryLayout<amqp_table_entry_t>.stride).bindMemory(to: amqp_table_entry_t.self)
    for (index, (key, value)) in source.sorted(by: { $0.key < $1.key }).enumerated() {
      var field = amqp_field_value_t()
      switch value {
      case .string(let text):
        field.kind = UInt8(AMQP_FIELD_KIND_UTF8.rawValue)
        field.value.bytes = bytes(text)
      case .int(let number):
        field.kind = UInt8(AMQP_FIELD_KIND_I64.rawValue)
        field.value.i64 = number
      case .bool(let flag):
        field.kind = UInt8(AMQP_FIELD_KIND_BOOLEAN.rawValue)
        field.value.boolean = flag ? 1 : 0
      case .other:
        field.kind = UInt8(AMQP_FIELD_KIND_VOID.rawValue)
      }
      entries.initializeElement(at: index, to: amqp_table_entry_t(key: bytes(key), value: field))
    }
    for (index, (key, inner)) in tables.sorted(by: { $0.key < $1.key }).enumerated() {
      var field = amqp_field_value_t()
      field.kind = UInt8(AMQP_FIELD_KIND_TABLE.rawValue)
      field.value.table = table(inner)
      entries.initializeElement(at: source.count + index, to: amqp_table_entry_t(key: bytes(key), value: field))
    }
    return amqp_table_t(num_entries: Int32(count), entries: entries.baseAddress)
  }
}

extension String {
  /// Copies AMQP bytes, since librabbitmq frees them with the frame. Bytes that are not UTF-8 are repaired.
  init(copying bytes: amqp_bytes_t) {
    self = String(decoding: UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.len), as: UTF8.self)
  }
}

extension AMQPValue {
  init(copying field: amqp_field_value_t) {
    switch Int32(field.kind) {
    case Int32(AMQP_FIELD_KIND_UTF8.rawValue): self = .string(String(copying: field.value.bytes))
    case Int32(AMQP_FIELD_KIND_BOOLEAN.rawValue): self = .bool(field.value.boolean != 0)
    case Int32(AMQP_FIELD_KIND_I8.rawValue): self = .int(Int64(field.value.i8))
    case Int32(AMQP_FIELD_KIND_U8.rawValue): self = .int(Int64(field.value.u8))
    case Int32(AMQP_FIELD_KIND_I16.rawValue): self = .int(Int64(field.value.i16))
    case Int32(AMQP_FIELD_KIND_U16.rawValue): self = .int(Int64(field.value.u16))
    case Int32(AMQP_FIELD_KIND_I32.rawValue): self = .int(Int64(field.value.i32))
    case Int32(AMQP_FIELD_KIND_U32.rawValue): self = .int(Int64(field.value.u32))
    case Int32(AMQP_FIELD_KIND_I64.rawValue): self = .int(field.value.i64)
    default: self = .other
    }
  }
}

extension AMQPProperties {
  init(copying source: amqp_basic_properties_t) {
    self.init()
    let flags = source._flags
    if flags & amqp_flags_t(AMQP_BASIC_CONTENT_TYPE_FLAG) != 0 { contentType = String(copying: source.content_type) }
    if flags & amqp_flags_t(AMQP_BASIC_MESSAGE_ID_FLAG) != 0 { messageID = String(copying: source.message_id) }
    if flags & amqp_flags_t(AMQP_BASIC_TYPE_FLAG) != 0 { type = String(copying: source.type) }
    if flags & amqp_flags_t(AMQP_BASIC_HEADERS_FLAG) != 0 {
      for index in 0..<Int(source.headers.num_entries) {
        let entry = source.headers.entries[index]
        headers[String(copying: entry.key)] = AMQPValue(copying: entry.value)
      }
    }
  }
}

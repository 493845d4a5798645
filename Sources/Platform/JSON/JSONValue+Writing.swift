import Formats

extension JSONValue {
  /// The value as JSON, without spaces, and with the members of each object in the order of the bytes of their names.
  /// Equal values have equal bytes.
  public var json: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }

  private func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.raw("null")
    case .bool(let flag): writer.raw(flag ? "true" : "false")
    case .integer(let number): writer.raw(String(number))
    // A reader of JSON gives finite numbers only, and Swift writes these as JSON does.
    case .number(let number): writer.raw(number.description)
    case .string(let text): writer.string(text)
    case .array(let elements):
      writer.raw(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { writer.raw(UInt8(ascii: ",")) }
        element.write(to: &writer)
      }
      writer.raw(UInt8(ascii: "]"))
    case .object(let members):
      writer.raw(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { writer.raw(UInt8(ascii: ",")) }
        writer.string(member.key.text)
        writer.raw(UInt8(ascii: ":"))
        member.value.write(to: &writer)
      }
      writer.raw(UInt8(ascii: "}"))
    }
  }
}

/// Writes a JSON text (RFC 8259) member by member, in the order of the calls.
///
/// It is for messages whose shape the program fixes. For them an encoder's reflection costs more than all their other
/// work.
public struct JSONWriter: Sendable {
  /// The text so far.
  public private(set) var bytes: [UInt8] = []
  /// Whether the writer has written a member on the present level.
  private var isBehindMember = false

  /// Starts with an empty text.
  public init() { bytes.reserveCapacity(512) }

  /// Returns an object's text.
  public static func object(_ members: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
    var writer = JSONWriter()
    try writer.braces(members)
    return writer.bytes
  }

  /// Returns the text of an object whose names are known at run time only. The values are JSON already.
  public static func object(_ members: some Sequence<(String, [UInt8])>) -> [UInt8] {
    var writer = JSONWriter()
    writer.raw("{")
    for (name, json) in members {
      if writer.bytes.count > 1 { writer.raw(",") }
      writer.string(name)
      writer.raw(":")
      writer.raw(json)
    }
    writer.raw("}")
    return writer.bytes
  }

  /// Returns the text of an array. The elements are JSON already.
  public static func array(_ elements: [[UInt8]]) -> [UInt8] {
    Array("[".utf8) + elements.joined(separator: ",".utf8) + Array("]".utf8)
  }

  /// The text of `null`.
  public static let null = Array("null".utf8)

  /// Returns a text as JSON.
  public static func text(_ text: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.string(text)
    return writer.bytes
  }

  /// Returns the beginning of a text that takes at most so many bytes as JSON, without its quotes.
  ///
  /// It ends between two scalars of Unicode, never within one.
  public static func beginning(of text: String, upTo most: Int) -> String {
    var bytes = 0
    for index in text.unicodeScalars.indices {
      bytes += size(of: text.unicodeScalars[index])
      if bytes > most { return String(text.unicodeScalars[..<index]) }
    }
    return text
  }

  private static func size(of scalar: Unicode.Scalar) -> Int {
    guard scalar.isASCII, isEscaped(UInt8(truncatingIfNeeded: scalar.value)) else { return UTF8.width(scalar) }
    switch scalar {
    case "\"", "\\", "\n", "\r", "\t": return 2
    default: return 6
    }
  }

  /// Writes a member that is an object.
  public mutating func member(_ name: StaticString, _ members: (inout JSONWriter) throws -> Void) rethrows {
    key(name)
    try braces(members)
    isBehindMember = true
  }

  /// Writes a member that is an array of objects.
  public mutating func member<Element>(
    _ name: StaticString, _ elements: some Sequence<Element>, _ members: (Element, inout JSONWriter) -> Void
  ) {
    key(name)
    bytes.append(UInt8(ascii: "["))
    var isBehindElement = false
    for element in elements {
      if isBehindElement { bytes.append(UInt8(ascii: ",")) }
      isBehindElement = true
      braces { members(element, &$0) }
    }
    bytes.append(UInt8(ascii: "]"))
    isBehindMember = true
  }

  /// Writes a text; `nil` leaves the member out.
  public mutating func member(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    key(name)
    string(text)
  }

  /// Writes a whole number; `nil` leaves the member out.
  public mutating func member(_ name: StaticString, _ number: Int64?) {
    guard let number else { return }
    key(name)
    raw(String(number))
  }

  /// Writes true or false; `nil` leaves the member out.
  public mutating func member(_ name: StaticString, _ flag: Bool?) {
    guard let flag else { return }
    key(name)
    raw(flag ? "true" : "false")
  }

  /// Writes a member whose value is JSON already; `nil` leaves the member out.
  public mutating func member(_ name: StaticString, json: [UInt8]?) {
    guard let json else { return }
    key(name)
    raw(json)
  }

  /// Writes a member that is an array of values that are JSON already.
  public mutating func member(_ name: StaticString, array: [[UInt8]]) {
    key(name)
    bytes.append(UInt8(ascii: "["))
    for (index, value) in array.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      raw(value)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  /// Writes a text with its quotes.
  public mutating func string(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    text.utf8Span.span.withUnsafeBufferPointer { utf8 in
      // Nearly every text needs no escapes. The loop has no exit in its middle, so it checks sixteen bytes at a time.
      var special: UInt8 = 0
      for byte in utf8 { special |= Self.isEscaped(byte) ? 1 : 0 }
      guard special != 0 else { return bytes.append(contentsOf: utf8) }
      var start = 0
      for index in utf8.indices {
        let byte = utf8[index]
        guard Self.isEscaped(byte) else { continue }
        bytes.append(contentsOf: utf8[start..<index])
        escape(byte)
        start = index + 1
      }
      bytes.append(contentsOf: utf8[start...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Writes a text that is JSON already.
  public mutating func raw(_ text: String) {
    // This copies the text in one piece. Through the text's view, Swift would copy byte by byte.
    text.utf8Span.span.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
  }

  /// Writes a text that is JSON already.
  public mutating func raw(_ text: [UInt8]) { bytes.append(contentsOf: text) }

  /// Writes a character of JSON.
  public mutating func raw(_ byte: UInt8) { bytes.append(byte) }

  private mutating func braces(_ members: (inout JSONWriter) throws -> Void) rethrows {
    bytes.append(UInt8(ascii: "{"))
    isBehindMember = false
    try members(&self)
    bytes.append(UInt8(ascii: "}"))
  }

  private mutating func key(_ name: StaticString) {
    if isBehindMember { bytes.append(UInt8(ascii: ",")) }
    isBehindMember = true
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// Whether a character needs an escape in a string (RFC 8259, section 7).
  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
    case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
    case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
    case 0..<0x20: raw((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16))
    default: bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
    }
  }
}

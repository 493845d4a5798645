/// What the beginning of a JSON text leaves open: what must follow it.
struct JSONContext {
  /// What may follow.
  enum Expectation {
    /// The name of a member.
    case name
    /// The colon behind a name.
    case colon
    case value
    /// A comma, or the bracket that ends the object or the array; at the top, nothing.
    case separator
  }

  /// The brackets that are not closed, with their offsets. The last one is the innermost.
  private(set) var open: [(byte: UInt8, at: Int)] = []
  private(set) var expectation = Expectation.value
  /// Whether the beginning ends within a text.
  private(set) var isInText = false

  /// - Parameter beginning: bytes that a JSON text may begin with.
  init(_ beginning: some Sequence<UInt8>) {
    var isEscaped = false
    for (at, byte) in beginning.enumerated() {
      if isInText {
        if !isEscaped, byte == UInt8(ascii: "\"") {
          isInText = false
          expectation = expectation == .name ? .colon : .separator
        }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      } else {
        take(byte, at: at)
      }
    }
  }

  private mutating func take(_ byte: UInt8, at offset: Int) {
    switch byte {
    case UInt8(ascii: "\""): isInText = true
    case UInt8(ascii: "{"):
      open.append((byte, offset))
      expectation = .name
    case UInt8(ascii: "["):
      open.append((byte, offset))
      expectation = .value
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      _ = open.popLast()
      expectation = .separator
    case UInt8(ascii: ":"): expectation = .value
    case UInt8(ascii: ","): expectation = open.last?.byte == UInt8(ascii: "{") ? .name : .value
    case 0...0x20: break
    default: expectation = .separator
    }
  }
}

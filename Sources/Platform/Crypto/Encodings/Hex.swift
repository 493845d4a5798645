/// Hexadecimal text.
public enum Hex {
  /// Returns two lower-case digits per byte.
  public static func encode(_ bytes: [UInt8]) -> String { encode(bytes[...]) }

  /// Returns two lower-case digits per byte of a slice.
  public static func encode(_ bytes: ArraySlice<UInt8>) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      var next = 0
      for byte in bytes {
        text[next] = digit(byte >> 4)
        text[next + 1] = digit(byte & 15)
        next += 2
      }
      return next
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
  }

  /// Returns the bytes of `text` in either case, or `nil` for an odd length or another character.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text.utf8 {
      let digit: UInt8
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = character - UInt8(ascii: "A") + 10
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return high == nil ? bytes : nil
  }
}

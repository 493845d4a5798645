/// The 16 bytes of a UUID and its text.
enum PostgresUUID {
  /// Reads 32 hexadecimal digits with hyphens in any place between bytes; `nil` for anything else.
  static func bytes(_ text: String) -> (UInt64, UInt64)? {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var digits = 0
    for byte in text.utf8 {
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
      case UInt8(ascii: "-"):
        guard digits % 2 == 0 else { return nil }
        continue
      default: return nil
      }
      guard digits < 32 else { return nil }
      if digits < 16 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
      digits += 1
    }
    return digits == 32 ? (high, low) : nil
  }

  /// The canonical text in lower case.
  static func text(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: 36) { text in
      var end = 0
      for place in 0..<32 {
        if place == 8 || place == 12 || place == 16 || place == 20 {
          text[end] = UInt8(ascii: "-")
          end += 1
        }
        let half = place < 16 ? high : low
        let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (place % 16))) & 0xf
        text[end] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        end += 1
      }
      return end
    }
  }
}

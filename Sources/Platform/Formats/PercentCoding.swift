/// Percent-encoding of one part of a URL (RFC 3986, section 2.1).
public enum PercentCoding {
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// Returns a text as one segment of a path, or one name or value of a query.
  ///
  /// Everything but the unreserved characters becomes `%XX`: a slash in an id never makes a segment.
  public static func encoded(_ text: String) -> String {
    if text.utf8.allSatisfy(\.isUnreserved) { return text }
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if byte.isUnreserved {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the decoded text of a part of a URL; `nil` when an escape is malformed or the bytes are not UTF-8.
  public static func decoded(_ text: Substring) -> String? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(value(of:)), let low = rest.popFirst().flatMap(value(of:)) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The value of a hexadecimal digit in either case.
  private static func value(of byte: UInt8) -> UInt8? {
    if byte.isASCIIDigit { return byte - UInt8(ascii: "0") }
    let place = (byte | 0x20) &- UInt8(ascii: "a")
    return place < 6 ? place + 10 : nil
  }
}

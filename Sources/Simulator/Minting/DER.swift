import Crypto

/// Writes the few values of DER that a receipt consists of.
enum DER {
  static func sequence(_ content: [UInt8]) -> [UInt8] { value(0x30, content) }
  static func set(_ content: [UInt8]) -> [UInt8] { value(0x31, content) }
  static func octets(_ content: [UInt8]) -> [UInt8] { value(tag(ASN1Reader.Tag.octetString), content) }
  static func text(_ text: String) -> [UInt8] { value(tag(ASN1Reader.Tag.utf8String), Array(text.utf8)) }

  /// A text of ASCII characters; receipts have their dates in this form.
  static func ascii(_ text: String) -> [UInt8] { value(tag(ASN1Reader.Tag.ia5String), Array(text.utf8)) }

  /// A number from 0.
  static func integer(_ number: Int64) -> [UInt8] {
    precondition(number >= 0)
    let digits = bigEndian(UInt64(number))
    // The first bit is the sign.
    return value(tag(ASN1Reader.Tag.integer), digits[0] >= 0x80 ? [0] + digits : digits)
  }

  private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    guard content.count >= 128 else { return [tag, UInt8(content.count)] + content }
    let length = bigEndian(UInt64(content.count))
    return [tag, 0x80 | UInt8(length.count)] + length + content
  }

  private static func tag(_ tag: Int32) -> UInt8 { UInt8(truncatingIfNeeded: tag) }

  /// The bytes of a number without leading zeros, but at least one byte.
  private static func bigEndian(_ number: UInt64) -> [UInt8] {
    let count = max(1, (64 - number.leadingZeroBitCount + 7) / 8)
    return (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (UInt64($0) * 8)) }
  }
}

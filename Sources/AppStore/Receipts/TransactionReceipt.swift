import Crypto
import Formats

/// Recognizes the transaction receipts of iOS 6 and earlier: property lists in the old style.
///
///     {
///         "signature" = "AsB…";
///         "purchase-info" = "ewoJIm9y…";
///     }
///
/// Their signature has another form than that of an app receipt, and only Apple's server can check it. In base64, such
/// a receipt without a line break after the brace begins with `eyJ`, as a JWS does.
enum TransactionReceipt {
  /// The bytes of base64 that are enough to tell, a multiple of 4.
  private static let enough = 256

  /// Whether bytes begin as such a property list: a brace, a key and an equals sign. JSON has a colon there.
  static func begins(_ bytes: some Sequence<UInt8>) -> Bool {
    var rest = bytes.lazy.filter { !isSpace($0) }.makeIterator()
    var byte = rest.next()
    if byte == 0xef, rest.next() == 0xbb, rest.next() == 0xbf { byte = rest.next() }
    guard byte == UInt8(ascii: "{") else { return false }
    byte = rest.next()
    let isQuoted = byte == UInt8(ascii: "\"")
    if isQuoted { byte = rest.next() }
    var length = 0
    while let letter = byte, letter.isASCIILetterOrDigit || letter == UInt8(ascii: "-") || letter == UInt8(ascii: "_") {
      length += 1
      byte = rest.next()
    }
    guard length > 0 else { return false }
    if isQuoted {
      guard byte == UInt8(ascii: "\"") else { return false }
      byte = rest.next()
    }
    return byte == UInt8(ascii: "=")
  }

  /// Whether a text is such a property list, in base64 or as it is. The padding of the base64 may be missing.
  static func begins(_ text: String) -> Bool {
    let head = text.utf8.lazy.filter { !isSpace($0) }.prefix(enough)
    if begins(head) { return true }
    let whole = String(decoding: Array(head).prefix(head.count / 4 * 4), as: UTF8.self)
    return Base64.decode(whole).map { begins($0) } ?? false
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
}

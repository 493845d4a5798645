/// Base64 with `+`, `/` and padding, after RFC 4648 section 4.
public enum Base64 {
  /// Returns the padded text of `bytes`.
  public static func encode(_ bytes: [UInt8]) -> String {
    Base64Alphabet.standard.encode(bytes, padded: true)
  }

  /// Returns the bytes of `text`, or `nil` unless ``encode(_:)`` would write exactly this text: no line breaks, no
  /// missing padding.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let utf8 = Array(text.utf8)
    guard utf8.count.isMultiple(of: 4) else { return nil }
    let padding = utf8.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    return utf8.dropLast(padding).withUnsafeBufferPointer(Base64Alphabet.standard.decode)
  }
}

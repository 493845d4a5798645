/// Base64 with `-` and `_` and without padding, as JSON Web Signatures use it (RFC 7515 section 2).
public enum Base64URL {
  /// Returns the text of `bytes`, without padding.
  public static func encode(_ bytes: [UInt8]) -> String {
    Base64Alphabet.urlSafe.encode(bytes, padded: false)
  }

  /// Returns the bytes of `text`, or `nil` unless ``encode(_:)`` would write exactly this text: no padding, no stray
  /// character, no set bits behind the last byte.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(Array(text.utf8)[...]) }

  /// Returns the bytes of a text in UTF-8.
  public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    text.withUnsafeBufferPointer(Base64Alphabet.urlSafe.decode)
  }
}

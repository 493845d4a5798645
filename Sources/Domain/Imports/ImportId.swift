import Crypto

/// The id of an ``UploadedImport``: `imp_` and 32 hexadecimal digits in lower case.
public struct ImportId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  private static let prefix = "imp_"

  /// Makes an id that nobody can guess.
  ///
  /// - Parameter random: 16 bytes.
  public init(random: [UInt8]) { self.init(Self.prefix + Hex.encode(random)) }

  /// Whether a text can be an id.
  public static func isValid(_ text: String) -> Bool {
    text.utf8.count == prefix.utf8.count + 32 && text.utf8.starts(with: prefix.utf8)
      && text.utf8.dropFirst(prefix.utf8.count).allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
  }
}

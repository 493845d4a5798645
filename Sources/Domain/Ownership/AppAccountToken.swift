import Crypto

/// The UUID by which an app names its customer to Apple (`appAccountToken`), in lower case.
public struct AppAccountToken: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// Returns the token of a UUID in any case of letters; `nil` for any other text.
  public static func canonical(_ text: String) -> AppAccountToken? {
    let digits = text.utf8.count == 36 ? bytes(of: text) : nil
    return digits.map { AppAccountToken(self.text(of: $0)) }
  }

  /// The token in lower case; `nil` if it is no UUID.
  public var canonical: AppAccountToken? { Self.canonical(text) }

  /// Whether the token names nobody: the UUID of zeros, which apps send that have no customer at hand.
  public var isNil: Bool { text.utf8.allSatisfy { $0 == UInt8(ascii: "0") || $0 == Self.hyphen } }

  /// Returns the UUID of version 5 (RFC 9562, section 5.5) of a name in a namespace.
  ///
  /// - Parameter namespace: the 16 bytes of a UUID.
  public static func derived(from name: String, in namespace: [UInt8]) -> AppAccountToken {
    var uuid = Array(SHA1.hash(namespace + Array(name.utf8)).prefix(16))
    uuid[6] = uuid[6] & 0x0f | 0x50
    uuid[8] = uuid[8] & 0x3f | 0x80
    return AppAccountToken(text(of: uuid))
  }

  /// Returns the 16 bytes of a UUID; `nil` for any other text.
  public static func bytes(of text: String) -> [UInt8]? {
    let utf8 = Array(text.utf8)
    guard utf8.count == 36, hyphens.allSatisfy({ utf8[$0] == hyphen }) else { return nil }
    let digits = utf8.indices.filter { !hyphens.contains($0) }.map { utf8[$0] }
    return Hex.decode(String(decoding: digits, as: UTF8.self))
  }

  private static let hyphen = UInt8(ascii: "-")
  private static let hyphens = [8, 13, 18, 23]

  static func text(of uuid: [UInt8]) -> String {
    let parts = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
    return parts.map { Hex.encode(uuid[$0]) }.joined(separator: "-")
  }
}

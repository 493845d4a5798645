import Crypto

/// The id of a ``Grant``: a UUID in lower case. The client chooses it, or the gateway does.
public struct GrantId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }

  /// Reads an id; `nil` for a text that is no UUID, and for the UUID of zeros.
  public init?(canonical text: String) {
    guard let id = AppAccountToken.canonical(text), !id.isNil else { return nil }
    self.init(id.text)
  }

  /// Makes an id that nobody can guess: a UUID of version 4 (RFC 9562, section 5.4).
  ///
  /// - Parameter random: 16 bytes.
  public init(random: [UInt8]) {
    var uuid = random
    uuid[6] = uuid[6] & 0x0f | 0x40
    uuid[8] = uuid[8] & 0x3f | 0x80
    self.init(AppAccountToken.text(of: uuid))
  }
}

/// Names one key of several: the `kid` of a signed token (RFC 7515, section 4.1.4), or the id of a key of App Store
/// Connect.
public struct KeyId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

/// For whom a token is: one text of its `aud` (RFC 7519, section 4.1.3).
public struct TokenAudience: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

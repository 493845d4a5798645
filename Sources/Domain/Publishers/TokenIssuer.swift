/// Who issued a token: its `iss` (RFC 7519, section 4.1.1).
public struct TokenIssuer: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

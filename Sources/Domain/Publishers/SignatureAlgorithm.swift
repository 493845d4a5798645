/// The name of an algorithm that signs tokens: their `alg` (RFC 7515, section 4.1.1), as `ES256`.
public struct SignatureAlgorithm: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

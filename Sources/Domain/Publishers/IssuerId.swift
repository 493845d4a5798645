/// The issuer id of an App Store Connect team, a UUID.
public struct IssuerId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

/// Apple's id of a download: the same for one customer and app (`appTransactionId`).
public struct AppTransactionId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

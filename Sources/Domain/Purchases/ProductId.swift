/// Apple's id of a product, for example `com.example.app.monthly`: what an app sells, and what an ``Offer`` names.
public struct ProductId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

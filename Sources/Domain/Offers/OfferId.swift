/// The id of an offer in the publisher's file, for example `S123123123_US`. It is no id of Apple's: Apple's
/// `offerIdentifier` names a reduced price of a product.
public struct OfferId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

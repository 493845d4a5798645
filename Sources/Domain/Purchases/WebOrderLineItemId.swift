/// Apple's id of one period of a subscription, `webOrderLineItemId`, which the devices of a customer share.
public struct WebOrderLineItemId: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

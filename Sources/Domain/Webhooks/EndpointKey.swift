/// Names a webhook endpoint of a publisher's. Two publishers may have endpoints with one id.
public struct EndpointKey: Hashable, Sendable {
  public let publisherId: PublisherId
  public let id: EndpointId

  /// Names an endpoint.
  public init(publisherId: PublisherId, id: EndpointId) { (self.publisherId, self.id) = (publisherId, id) }
}

/// What a notifier has to note about a delivery.
public struct DeliveryChange: Sendable, Equatable {
  /// The kinds of change.
  public enum Kind: Sendable, Equatable {
    /// The notifier has looked which endpoints get the event.
    case seen
    /// An attempt has ended, or the notifier skipped it.
    ///
    /// - Parameters:
    ///   - at: when, in milliseconds since 1970.
    ///   - isConfigured: whether the endpoint is in the publisher's file.
    case attempted(DeliveryAttempt, isConfigured: Bool)
    /// The attempt waits until this time, in milliseconds since 1970.
    case postponed(until: Int64)
    /// No further attempt follows, and none was made.
    case dropped
    /// No further attempt follows: notifiers died while they had the delivery. That says nothing about the endpoint.
    case putAside(DeliveryAttempt)
  }

  public let eventId: EventId
  public let round: DeliveryRound
  public let publisherId: PublisherId
  public let endpointId: EndpointId
  public let topic: EventTopic
  /// The endpoints that get the event, if the message went to all of them; `nil` if it went to one.
  public let look: EndpointLook?
  public let kind: Kind

  /// Creates a change for a delivery whose message nobody has read.
  public init(
    eventId: EventId, round: DeliveryRound, publisherId: PublisherId, endpointId: EndpointId, topic: EventTopic,
    _ kind: Kind
  ) {
    self.eventId = eventId
    self.round = round
    self.publisherId = publisherId
    self.endpointId = endpointId
    self.topic = topic
    look = nil
    self.kind = kind
  }

  /// Creates a change.
  public init(_ delivery: Delivery, at endpoint: EndpointId = .unknown, look: EndpointLook? = nil, _ kind: Kind) {
    eventId = delivery.eventId
    round = delivery.round
    publisherId = delivery.publisherId
    endpointId = endpoint
    topic = delivery.topic
    self.look = look
    self.kind = kind
  }
}

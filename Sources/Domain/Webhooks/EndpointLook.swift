/// The endpoints that a notifier knew when it looked which of them get an event.
///
/// A notifier's knowledge may be a second old, and older while the ledger is away. So the commit that notes the look
/// compares the revision, and adds the endpoints that the look missed.
public struct EndpointLook: Sendable, Equatable {
  /// The ids of the endpoints that subscribe to the event's topic, of the publisher's file and of the API.
  public let endpoints: [EndpointId]
  /// The revision of the publisher's endpoints that the notifier knew; `nil` if it knew none. Then the ledger compares
  /// the endpoints themselves.
  public let revision: Int64?
  /// The environment of the event's purchase. An endpoint that hears about the other one only does not get the event.
  public let environment: WebhookEnvironment?

  /// Creates a look.
  public init(_ endpoints: [EndpointId], revision: Int64?, environment: WebhookEnvironment? = nil) {
    self.endpoints = endpoints
    self.revision = revision
    self.environment = environment
  }
}

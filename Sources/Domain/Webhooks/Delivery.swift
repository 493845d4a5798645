import FoundationEssentials
import JSON

/// An event on its way to webhook endpoints: to all endpoints of its publisher, or to the only one that still misses
/// it.
public struct Delivery: Sendable, Equatable {
  public let publisherId: PublisherId
  public let topic: EventTopic
  /// The event's id; the same in every attempt.
  public let eventId: EventId
  /// The only endpoint that still misses the event; `nil` for an event that comes for the first time.
  public var endpointId: EndpointId?
  /// The number of this attempt, from 1.
  public var attempt: Int
  /// Names a request to send the event again; empty the first time. Each round counts its attempts from 1.
  public var round: DeliveryRound
  /// The earliest time for the attempt, in milliseconds since 1970; `nil` is at once.
  public var due: Int64?
  /// Whether the endpoint's rate has a planned place for the attempt at that time.
  public var isPlanned = false
  /// How often a notifier has put this attempt off because the endpoint was busy.
  public var parks: Int
  /// How often the delivery came to a notifier that did not know its publisher.
  public var misses = 0
  /// How many milliseconds the endpoint itself, by its limits or its slowness, has delayed its first attempt.
  public var waited: Int64 = 0
  /// How many notifiers in a row died while they had this attempt, as its message counts them.
  public var crashes = 0
  public let traceparent: String?
  /// The synchronization that the event tells about, for the log; `nil` for other events.
  public let synchronizationId: SynchronizationId?
  /// The published body, byte for byte: the signature is over these bytes.
  public let body: [UInt8]
  /// The headers of the event itself: CloudEvents attributes, trace and version.
  public let headers: [String: EventHeader]

  /// What is no event.
  public struct Malformed: Error, Sendable {
    public let reason: String

    /// Creates an error.
    public init(reason: String) { self.reason = reason }
  }

  /// Creates the first attempt to deliver an event.
  ///
  /// - Parameters:
  ///   - eventId: must contain no `.`, after Standard Webhooks 1.0.0.
  ///   - endpointId: the only endpoint that gets it; `nil` is all that subscribe to its topic.
  ///   - round: must be new if the event was delivered before. Otherwise the attempt counts as made.
  ///   - headers: as in ``headers``.
  ///   - body: the envelope `{broadcasterId, topic, data}`.
  /// - Throws: ``Malformed`` when the body is no envelope.
  public init(
    eventId: EventId, endpointId: EndpointId?, round: DeliveryRound = .first, headers: [String: EventHeader],
    body: [UInt8]
  ) throws(Malformed) {
    guard let envelope = try? JSONText(body, limits: .own).decoded(as: Envelope.self) else {
      throw Malformed(reason: "the body is not an event")
    }
    self.eventId = eventId
    self.endpointId = endpointId
    self.round = round
    self.headers = headers
    self.body = body
    publisherId = envelope.broadcasterId
    topic = envelope.topic
    synchronizationId = envelope.data?.synchronizationId
    traceparent = headers[EventHeader.traceparent]?.string
    attempt = 1
    parks = 0
  }

  /// Creates the first attempt of a round to deliver an event of the ledger.
  ///
  /// - Throws: ``Malformed`` when its body is no envelope.
  public init(_ event: Event, endpointId: EndpointId?, round: DeliveryRound = .first) throws(Malformed) {
    try self.init(
      eventId: event.id, endpointId: endpointId, round: round, headers: event.headers, body: event.body)
  }

  /// The event's version; `nil` when it has none.
  public var version: Int64? { headers[EventHeader.version]?.int }
  /// When the event happened, in the form of RFC 3339; `nil` when no header tells it.
  public var time: String? { headers[CloudEventsAttributes.time]?.string }

  /// The round that recovers an event for an endpoint. A second request meanwhile gets the same round.
  ///
  /// - Parameter time: when a notifier gave the event up, in milliseconds since 1970.
  public static func roundOfRecovery(givenUpAt time: Int64) -> DeliveryRound { "recover-\(time)" }

  private struct Envelope: Decodable {
    let broadcasterId: PublisherId
    let topic: EventTopic
    let data: Content?

    struct Content: Decodable {
      let synchronizationId: SynchronizationId?
    }
  }
}

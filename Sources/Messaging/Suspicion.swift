public import AMQP
import Crypto
public import Domain
import Formats

/// What a message of the notifiers' queue tells about itself before anybody reads its body: a body may be what kills.
public struct Suspicion: Sendable, Equatable {
  /// How many notifiers in a row died while they had the message, as its header counts them.
  ///
  /// A message that the broker delivers again keeps its header, so the runs since then are counted in Redis
  /// (`BegunRuns`), under ``name``.
  public let crashes: Int
  /// Whether a notifier got this message before and neither acknowledged it nor gave it back with its count.
  public let isDeliveredAgain: Bool
  /// The name of the runs of this message: the same for each copy of it with the same ``crashes``, and another one for
  /// the next attempt. So no run counts in the header and in Redis.
  ///
  /// It takes two digests, which only a suspect needs.
  public var name: String {
    let parts = [eventId.text, endpointId.text, round.text, String(attempt), String(crashes)].map {
      "\($0.utf8.count) \($0)"
    }
    return "delivery:" + Hex.encode(SHA256.hash(Array(parts.joined().utf8) + SHA256.hash(body))[..<16])
  }

  private let body: [UInt8]
  private let eventId: EventId
  private let endpointId: EndpointId
  private let round: DeliveryRound
  private let attempt: Int
  /// The publisher, as far as the headers tell it.
  public let publisherId: PublisherId?
  private let topic: EventTopic
  private let version: Int64?

  /// Reads the properties of a message.
  public init(_ message: AMQPDelivery) {
    let (properties, headers) = (message.properties, message.properties.headers)
    crashes = headers.count(Delivery.crashesHeader)
    isDeliveredAgain = JobMessage.wasRedelivered(message)
    eventId = EventId(properties.messageID ?? "")
    endpointId = (headers[Delivery.endpointHeader]?.string).map(EndpointId.init(_:)) ?? .unknown
    round = headers[Delivery.roundHeader]?.string.map(DeliveryRound.init(_:)) ?? .first
    attempt = headers.count(JobMessage.attemptHeader, least: 1)
    topic = EventTopic(properties.type ?? "")
    version = headers[EventHeader.version]?.int
    publisherId =
      Delivery.notification(named: eventId)?.publisherId
      ?? headers[CloudEventsAttributes.source]?.string.flatMap(CloudEventsAttributes.publisher)
    body = message.body
  }

  /// Whether a notifier may have died of it.
  public var isSuspect: Bool { isDeliveredAgain || crashes > 0 }

  /// How many notifiers in a row died while they had it.
  ///
  /// The run of the first delivery is not in Redis, so the next delivery tells its death. All later runs are: a message
  /// that comes again has perhaps only waited for its turn when its notifier died.
  ///
  /// - Parameter begun: how many of its runs that began since the header was written have not ended.
  public func crashes(begun: Int) -> Int { (crashes == 0 && isDeliveredAgain ? 1 : crashes) + begun }

  /// Copies a message as it is, body unread, for another queue.
  ///
  /// - Parameters:
  ///   - crashes: how many notifiers died, for the copy's header.
  ///   - isUncounted: whether the copy still has to say that it was delivered before.
  ///   - reason: why the copy goes into the queue of the dead.
  public static func copy(
    of message: AMQPDelivery, queue: String, crashes: Int = 0, isUncounted: Bool = false, reason: String? = nil
  ) -> AMQPMessage {
    var copy = AMQPMessage(copying: message, to: queue) { JobMessage.isOwn($0) || EventHeader.isOfEvent($0) }
    copy.headers[JobMessage.reasonHeader] = reason.map { .string(String($0.prefix(1000))) }
    copy.headers[Delivery.crashesHeader] = crashes > 0 ? .int(Int64(crashes)) : nil
    copy.headers[JobMessage.redeliveredHeader] = isUncounted ? true : nil
    return copy
  }

  /// What the ledger has to note about a delivery that is put aside: it ends, and no sweep finds it any more. The log
  /// of its endpoint says why, so a publisher can ask for it again.
  ///
  /// - Parameter time: milliseconds since 1970.
  public func end(_ reason: String, at time: Int64) -> DeliveryChange {
    // The event as a whole has no endpoint yet, and a log only speaks of endpoints.
    guard let publisherId, endpointId != .unknown else {
      return DeliveryChange(
        eventId: eventId, round: round, publisherId: publisherId ?? 0, endpointId: endpointId, topic: topic, .dropped)
    }
    let attempt = DeliveryAttempt(
      eventId: eventId, endpointId: endpointId, topic: topic, version: version, number: attempt, time: time,
      error: reason, result: .abandoned)
    return DeliveryChange(
      eventId: eventId, round: round, publisherId: publisherId, endpointId: endpointId, topic: topic,
      .putAside(attempt))
  }
}

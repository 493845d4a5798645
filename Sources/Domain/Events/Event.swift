import Crypto
import Formats
package import JSON

/// A message that tells a change. However often it is published, it has the same bytes and the same id.
///
/// This is an object: several lists have an event at a time, and a copy of a value would retain each of its parts.
public final class Event: Sendable {
  /// The same for every publish; consumers drop repeats by it.
  public let id: EventId
  public let publisherId: PublisherId
  /// The customer that it is about; `nil` for an event about no customer, and after the customer's erasure.
  public let customerId: CustomerId?
  /// One of ``DoorCatalog/topics``.
  public let topic: EventTopic
  /// Grows with every change of what the event tells; `nil` for events without a version.
  public let version: Int64?
  /// When it happened, in milliseconds since 1970.
  public let time: Int64
  /// The trace to continue.
  public let traceparent: String?
  /// The documented envelope `{broadcasterId, data, topic}`, as JSON.
  public let body: [UInt8]
  /// Whether the body tells less than the event's topic promises, because it would be too long; see
  /// ``mostBodyBytes``. An event that was read from the ledger does not know that any more.
  public let isReduced: Bool

  /// The most bytes of a body. The limits of what clients, publishers and Apple put into events keep all events far
  /// below it, so a longer one is a mistake of ours; see docs/reference/events.md.
  public static let mostBodyBytes = 64 << 10

  /// Creates an event.
  public init(
    id: EventId, publisherId: PublisherId, customerId: CustomerId? = nil, topic: EventTopic, version: Int64? = nil,
    traceparent: String? = nil, time: Int64, body: [UInt8], isReduced: Bool = false
  ) {
    self.id = id
    self.publisherId = publisherId
    self.customerId = customerId
    self.topic = topic
    self.version = version
    self.time = time
    self.traceparent = traceparent
    self.body = body
    self.isReduced = isReduced
  }

  /// Creates an event with its envelope.
  ///
  /// If the envelope is too long, the event says so instead of its data. It has the same id, so nothing is lost but the
  /// text: whoever gets it asks the API for the present state.
  ///
  /// - Parameter parts: name the change. The id is their hash: a client may choose the id of a synchronization, but
  ///   nobody may choose a webhook id (Standard Webhooks 1.0.0).
  package convenience init(
    of parts: [String], publisherId: PublisherId, customerId: CustomerId?, topic: EventTopic, version: Int64?,
    time: Int64,
    traceparent: String?, data: (inout JSONWriter) -> Void
  ) {
    let id = Self.id(publisherId, topic, parts)
    let whole = Self.envelope(publisherId, topic, data)
    let isReduced = whole.count > Self.mostBodyBytes
    let body =
      isReduced
      ? Self.envelope(publisherId, topic) { data in
        if let customerId { data.customer(customerId) }
        data.member("omittedBytes", Int64(whole.count))
      } : whole
    // A writer's array has room for more text, and a process keeps thousands of events for some seconds.
    let exact = body.withUnsafeBufferPointer(Array.init)
    self.init(
      id: id, publisherId: publisherId, customerId: customerId, topic: topic, version: version,
      traceparent: traceparent, time: time, body: exact, isReduced: isReduced)
  }

  static func envelope(
    _ publisherId: PublisherId, _ topic: EventTopic, _ data: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    JSONWriter.object { envelope in
      envelope.member("broadcasterId", publisherId.number)
      envelope.member("data", data)
      envelope.member("topic", topic)
    }
  }
}

extension Event: Equatable {
  /// Whether both tell the same with the same bytes.
  public static func == (one: Event, other: Event) -> Bool {
    one.id == other.id && one.publisherId == other.publisherId && one.customerId == other.customerId
      && one.topic == other.topic && one.version == other.version && one.time == other.time
      && one.traceparent.isExactly(other.traceparent) && one.body == other.body && one.isReduced == other.isReduced
  }
}

extension Event {
  /// The id of the event of a job's synchronization.
  public static func id(of job: Job) -> EventId {
    id(
      job.publisherId, EventTopic.synchronizationResult,
      [job.synchronizationId.text, job.transactionId.text, job.customerId.text])
  }

  /// The id of the event of a synchronization, finalized or not.
  public static func id(of synchronization: Synchronization) -> EventId {
    id(
      synchronization.publisherId, EventTopic.synchronizationResult,
      [synchronization.id.text, synchronization.transactionId.text, synchronization.customerId.text])
  }

  package static func id(_ publisherId: PublisherId, _ topic: EventTopic, _ parts: [String]) -> EventId {
    let name = ([String(publisherId), topic.text] + parts).lengthPrefixed
    return EventId("evt_" + Hex.encode(SHA256.hash(Array(name.utf8))[..<16]))
  }
}

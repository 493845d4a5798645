import AMQP
import Fleet
import FoundationEssentials
import JSON

/// An event on its way to webhook endpoints: to all of its publisher, or, once delayed, to one.
struct Delivery {
  let publisherId: Int64
  let topic: String
  /// The event's id; the same in every attempt.
  let eventId: String
  /// The only endpoint that is still owed the event; `nil` for an event that comes for the first time.
  let endpointId: String?
  /// The number of this attempt, from 1.
  let attempt: Int
  let traceparent: String?
  /// The synchronization that the event tells about, for the log.
  let synchronizationId: String
  /// The body as the worker published it, byte for byte: the signature is over these bytes.
  let body: [UInt8]
  private let headers: [String: AMQPValue]

  static let endpointHeader = "countersign-endpoint"

  /// A message that is no event.
  struct Malformed: Error {
    let reason: String
  }

  /// Reads a message of the notifier's queue.
  ///
  /// - Throws: ``Malformed``.
  init(_ message: AMQPDelivery) throws(Malformed) {
    guard let id = message.properties.messageID, !id.isEmpty, !id.contains(".") else {
      throw Malformed(reason: "the message has no usable id")
    }
    guard let envelope = try? JSONText(message.body).decoded(as: Envelope.self) else {
      throw Malformed(reason: "the body is not an event")
    }
    eventId = id
    publisherId = envelope.broadcasterId
    topic = envelope.topic
    synchronizationId = envelope.data?.synchronizationId ?? ""
    endpointId = message.properties.headers[Self.endpointHeader]?.string
    attempt = Int(clamping: max(1, message.properties.headers[JobMessage.attemptHeader]?.int ?? 1))
    traceparent = message.properties.headers["traceparent"]?.string
    // What the worker said about the event stays with it; what a broker added does not.
    headers = message.properties.headers.filter { key, value in
      value != .other && (key.hasPrefix("cloudEvents_") || key == "traceparent" || key == EventMessage.versionHeader)
    }
    body = message.body
  }

  /// Builds the message that owes the event to one endpoint, or buries it with a reason.
  ///
  /// - Parameter endpoint: `nil` while it is not known to whom the event is owed.
  func message(to endpoint: String?, attempt: Int, queue: String, reason: String? = nil) -> AMQPMessage {
    var headers = headers
    headers[Self.endpointHeader] = endpoint.map(AMQPValue.string)
    headers[JobMessage.attemptHeader] = .int(Int64(attempt))
    headers[JobMessage.reasonHeader] = reason.map { .string(String($0.prefix(1000))) }
    return AMQPMessage(
      exchange: "", routingKey: queue, messageID: eventId, type: topic, headers: headers, body: body)
  }

  private struct Envelope: Decodable {
    let broadcasterId: Int64
    let topic: String
    let data: Content?

    struct Content: Decodable {
      let synchronizationId: String?
    }
  }
}

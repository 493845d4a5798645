public import AMQP
import Crypto
public import Domain

/// An event on the wire: the documented envelope as body, CloudEvents attributes, trace and version as headers.
public enum EventMessage {
  /// The version of what the event tells about. It grows, so a consumer can drop older events.
  public static let versionHeader = "version"

  /// The topic of an event that a publisher asks for to see whether an endpoint works.
  public static let testTopic = "test"

  /// The id of an event that a notifier makes. It is the same for every publisher and every publish.
  ///
  /// The id is a hash: the client may choose the synchronization's id, but nobody may choose a webhook id (Standard
  /// Webhooks 1.0.0).
  public static func id(publisher: Int64, synchronization: String) -> String {
    "evt_" + Hex.encode(SHA256.hash(Array("\(publisher)/\(synchronization)".utf8))[..<16])
  }

  /// Builds the message that publishes an event.
  public static func message(_ event: Event, exchange: String) -> AMQPMessage {
    AMQPMessage(
      exchange: exchange, routingKey: "\(event.topic).\(event.publisherId)", messageID: event.id,
      type: event.topic, headers: headers(of: event), body: event.body)
  }

  /// The headers of every publish and delivery of an event: the attributes of CloudEvents, trace and version.
  public static func headers(of event: Event) -> [String: AMQPValue] {
    var headers = CloudEventsAttributes.headers(
      id: event.id, publisher: event.publisherId, topic: event.topic, at: event.time)
    headers[versionHeader] = event.version.map(AMQPValue.int)
    headers["traceparent"] = event.traceparent.map(AMQPValue.string)
    return headers
  }
}

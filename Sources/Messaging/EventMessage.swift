public import AMQP
import Crypto
public import Domain

/// An event on the wire: the documented envelope as body, CloudEvents attributes, trace and version as headers.
public enum EventMessage {
  /// The fencing number. It grows with every synchronization of a transaction, so a consumer can drop older events.
  public static let versionHeader = "version"

  /// The topic of an event that a publisher asks for to see whether an endpoint works.
  public static let testTopic = "test"

  /// The id of a synchronization's event. It is the same for every publisher and every publish.
  ///
  /// The id is a hash: the client may choose the synchronization's id, but nobody may choose a webhook id (Standard
  /// Webhooks 1.0.0).
  public static func id(publisher: Int64, synchronization: String) -> String {
    "evt_" + Hex.encode(SHA256.hash(Array("\(publisher)/\(synchronization)".utf8))[..<16])
  }

  /// Builds the message that publishes an event.
  public static func message(_ event: PurchaseEvent, exchange: String) -> AMQPMessage {
    var headers = CloudEventsAttributes.headers(
      id: event.id, publisher: event.publisherId, topic: PurchaseEvent.topic, at: event.time)
    headers[versionHeader] = .int(event.version)
    headers["traceparent"] = event.traceparent.map(AMQPValue.string)
    return AMQPMessage(
      exchange: exchange, routingKey: "\(PurchaseEvent.topic).\(event.publisherId)", messageID: event.id,
      type: PurchaseEvent.topic, headers: headers, body: event.body)
  }
}

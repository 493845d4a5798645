public import AMQP
import Crypto
public import Domain

/// An event on the wire: the documented envelope as body, CloudEvents attributes, trace and version as headers.
public enum EventMessage {
  /// The fencing number; grows with every synchronization of a transaction, so a consumer can drop what is older.
  public static let versionHeader = "version"

  /// The topic of an event that a publisher asks for to see whether an endpoint works.
  public static let testTopic = "test"

  /// The id of a synchronization's event: the same whoever publishes it and however often.
  ///
  /// A hash, because the synchronization's id may be the client's and webhook ids must not be anybody's choice
  /// (Standard Webhooks 1.0.0).
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

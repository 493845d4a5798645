public import AMQP
public import Domain

/// An event on the wire: the documented envelope as body, CloudEvents attributes, trace and version as headers.
public enum EventMessage {
  /// The version of what the event tells about. It grows, so a consumer can drop older events.
  public static let versionHeader = "version"

  /// Builds the message that puts an event into the fleet's own queue.
  public static func message(_ event: Event, queue: String) -> AMQPMessage {
    message(event, exchange: "", routingKey: queue)
  }

  /// Builds the message that publishes an event to subscribers. Perhaps nobody has bound a queue for it.
  public static func message(_ event: Event, exchange: String) -> AMQPMessage {
    var message = message(event, exchange: exchange, routingKey: "\(event.topic).\(event.publisherId)")
    message.isMandatory = false
    return message
  }

  private static func message(_ event: Event, exchange: String, routingKey: String) -> AMQPMessage {
    AMQPMessage(
      exchange: exchange, routingKey: routingKey, messageID: event.id, type: event.topic, headers: headers(of: event),
      body: event.body)
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

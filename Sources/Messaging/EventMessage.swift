public import AMQP
public import Domain

/// An event on the wire: the documented envelope as body, CloudEvents attributes, trace and version as headers.
public enum EventMessage {
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
      exchange: exchange, routingKey: routingKey, messageID: event.id.text, type: event.topic.text,
      headers: event.headers.mapValues(AMQPValue.init), body: event.body)
  }
}

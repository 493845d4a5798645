/// A message to publish.
///
/// Every message is persistent: no message of Countersign may get lost.
public struct AMQPMessage: Sendable {
  /// The broker's answer to a message. A success is its confirm; then the broker has the message.
  public typealias Answer = Result<Void, AMQPError>

  /// The exchange; the empty name is the default exchange, which routes to the queue named by the key.
  public var exchange: String
  /// The routing key.
  public var routingKey: String
  /// Identifies the message among those in flight. The id stays the same when the message is published again.
  public var messageID: String
  /// A media type.
  public var contentType: String
  /// The `type` property.
  public var type: String?
  /// The headers table.
  public var headers: [String: AMQPValue]
  /// The body.
  public var body: [UInt8]
  /// Whether a queue must take it. A publish without one fails as `unroutable`.
  public var isMandatory = true

  /// Creates a message.
  public init(
    exchange: String, routingKey: String, messageID: String, contentType: String = "application/json",
    type: String? = nil, headers: [String: AMQPValue] = [:], body: [UInt8]
  ) {
    self.exchange = exchange
    self.routingKey = routingKey
    self.messageID = messageID
    self.contentType = contentType
    self.type = type
    self.headers = headers
    self.body = body
  }
}

extension AMQPMessage {
  /// Copies a delivery for another queue, its body unread.
  ///
  /// - Parameters:
  ///   - queue: the name of the queue.
  ///   - keeps: whether a header of this name goes along. A header whose value we cannot write never does.
  public init(copying delivery: AMQPDelivery, to queue: String, keeps: (String) -> Bool = { _ in true }) {
    let properties = delivery.properties
    self.init(
      exchange: "", routingKey: queue, messageID: properties.messageID ?? "dead-\(delivery.tag)",
      contentType: properties.contentType ?? "application/octet-stream", type: properties.type,
      headers: properties.headers.filter { $0.value != .other && keeps($0.key) }, body: delivery.body)
  }
}

/// A message that the broker delivered and that must be acknowledged.
///
/// This is an object: a job hands its delivery on several times, and a copy of a value would retain each of its parts.
public final class AMQPDelivery: Sendable {
  /// The tag that names the delivery on its channel.
  public let tag: UInt64
  /// False guarantees that no consumer has seen the message before.
  public let isRedelivered: Bool
  /// The exchange to which the message was published.
  public let exchange: String
  /// The routing key of the message.
  public let routingKey: String
  /// Its properties.
  public let properties: AMQPProperties
  /// Its body.
  public let body: [UInt8]

  init(
    tag: UInt64, isRedelivered: Bool, exchange: String, routingKey: String, properties: AMQPProperties, body: [UInt8]
  ) {
    (self.tag, self.isRedelivered, self.exchange) = (tag, isRedelivered, exchange)
    (self.routingKey, self.properties, self.body) = (routingKey, properties, body)
  }

  /// A message in the form of its first delivery, for work that no broker brings.
  public convenience init(of message: AMQPMessage) {
    var properties = AMQPProperties()
    (properties.contentType, properties.messageID) = (message.contentType, message.messageID)
    (properties.type, properties.headers) = (message.type, message.headers)
    self.init(
      tag: 0, isRedelivered: false, exchange: message.exchange, routingKey: message.routingKey, properties: properties,
      body: message.body)
  }
}

/// The properties of a received message.
public struct AMQPProperties: Sendable, Equatable {
  public var contentType: String?
  public var messageID: String?
  public var type: String?
  public var headers: [String: AMQPValue] = [:]

  /// Creates empty properties.
  public init() {}
}

public import AMQP
public import Domain
import JSON

/// Tells a worker that the ledger has a notification of Apple's that nobody has applied.
///
/// It may get lost, or come twice: the ledger knows which notifications are open.
public enum NotificationMessage {
  /// The name of the message's `type`.
  static let type = "notification"

  /// Builds the message.
  public static func message(_ publisherId: PublisherId, _ uuid: NotificationUUID, queue: String) -> AMQPMessage {
    AMQPMessage(
      exchange: "", routingKey: queue, messageID: "notification_\(uuid.text.prefix(200))", type: type,
      body: JSONWriter.object { body in
        body.member("publisherId", publisherId.number)
        body.member("uuid", uuid)
      })
  }

  /// Reads a delivery; `nil` for anything else.
  public static func read(_ delivery: AMQPDelivery) -> NotificationKey? {
    guard let members = try? JSONObject(JSONText(delivery.body, limits: .own)),
      let publisher = (try? members.requiredInt64("publisherId")).map(PublisherId.init(_:)),
      let uuid = try? members.requiredString("uuid")
    else { return nil }
    return NotificationKey(publisherId: publisher, uuid: NotificationUUID(uuid))
  }
}

public import AMQP
import Crypto
public import Domain
import Formats
import JSON
public import Messaging

extension EventMessage {
  /// The topic of the event that announces a disabled endpoint.
  public static let disabledTopic = EventTopic.webhookEndpointDisabled
  /// The topics that an endpoint can have.
  public static let topics = EventTopic.all

  /// Builds the message that announces a disabled endpoint. Every publisher of it builds the same message with the
  /// same id.
  ///
  /// - Parameter failingSince: since when every attempt has failed, in milliseconds since 1970.
  public static func disabled(
    _ endpoint: WebhookEndpoint, of publisher: Int64, _ disabled: EndpointHealth.Disabled, failingSince: Int64?,
    exchange: String
  ) -> AMQPMessage {
    let id = self.id(publisher: publisher, synchronization: "\(disabledTopic)/\(endpoint.id)/\(disabled.at)")
    let body = JSONWriter.object { envelope in
      envelope.member("broadcasterId", publisher)
      envelope.member("data") { data in
        data.member("disabledAt", rfc3339(milliseconds: disabled.at))
        data.member("endpointId", endpoint.id)
        data.member("failingSince", failingSince.map(rfc3339(milliseconds:)))
        data.member("reason", disabled.reason.rawValue)
        data.member("url", endpoint.url)
      }
      envelope.member("topic", disabledTopic)
    }
    return AMQPMessage(
      exchange: exchange, routingKey: "\(disabledTopic).\(publisher)", messageID: id, type: disabledTopic,
      headers: CloudEventsAttributes.headers(id: id, publisher: publisher, topic: disabledTopic, at: disabled.at),
      body: body)
  }
}

import Domain
import Formats
import JSON
public import Messaging

extension EventMessage {
  /// The topic of the event that announces a disabled endpoint.
  public static let disabledTopic = EventTopic.webhookEndpointDisabled
  /// The topics that an endpoint can have.
  public static let topics = EventTopic.all
}

extension Event {
  /// The event that announces a disabled endpoint.
  ///
  /// - Parameter failingSince: since when every attempt has failed, in milliseconds since 1970.
  init(
    _ endpoint: WebhookEndpoint, of publisher: Int64, _ disabled: EndpointHealth.Disabled, failingSince: Int64?
  ) {
    let topic = EventMessage.disabledTopic
    let body = JSONWriter.object { envelope in
      envelope.member("broadcasterId", publisher)
      envelope.member("data") { data in
        data.member("disabledAt", rfc3339(milliseconds: disabled.at))
        data.member("endpointId", endpoint.id)
        data.member("failingSince", failingSince.map(rfc3339(milliseconds:)))
        data.member("reason", disabled.reason.rawValue)
        data.member("url", endpoint.url)
      }
      envelope.member("topic", topic)
    }
    self.init(
      id: EventMessage.id(publisher: publisher, synchronization: "\(topic)/\(endpoint.id)/\(disabled.at)"),
      publisherId: publisher, topic: topic, time: disabled.at, body: body)
  }
}

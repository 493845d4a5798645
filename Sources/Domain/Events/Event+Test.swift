import Formats
import JSON

extension Event {
  /// The id of a test event that a form asks for. Whoever writes a form's token can make the id of a test only, and of
  /// no other event: events of all publishers share one key.
  ///
  /// - Parameter token: a random text. The same one makes the same id.
  public static func id(ofTest token: String, at endpoint: EndpointId, of publisher: PublisherId) -> EventId {
    id(publisher, EventTopic.test, [endpoint.text, token])
  }

  /// An event that tells nothing but that an endpoint is reached.
  ///
  /// - Parameters:
  ///   - endpoint: the only one that gets it.
  ///   - id: a random one, with `evt_` in front, or ``id(ofTest:at:of:)``.
  ///   - now: milliseconds since 1970.
  public convenience init(
    testing endpoint: EndpointId, of publisher: PublisherId, id: EventId, traceparent: String?, now: Int64
  ) {
    let body = Self.envelope(publisher, EventTopic.test) { data in
      data.member("endpointId", endpoint)
      data.member("time", rfc3339(milliseconds: now))
    }
    self.init(
      id: id, publisherId: publisher, topic: EventTopic.test, traceparent: traceparent, time: now, body: body)
  }
}

import Formats
import JSON

extension Event {
  /// An event that tells nothing but that an endpoint is reached.
  ///
  /// - Parameters:
  ///   - endpoint: the only one that gets it.
  ///   - id: a random one, with `evt_` in front.
  ///   - now: milliseconds since 1970.
  public init(testing endpoint: EndpointId, of publisher: Int64, id: EventId, traceparent: String?, now: Int64) {
    let body = Self.envelope(publisher, EventTopic.test) { data in
      data.member("endpointId", endpoint)
      data.member("time", rfc3339(milliseconds: now))
    }
    self.init(
      id: id, publisherId: publisher, topic: EventTopic.test, traceparent: traceparent, time: now, body: body)
  }
}

import JSON

/// What an event is for a format other than our own.
public enum WebhookContent: Sendable {
  /// The event's `data`, which is the vendor's body, as the event has it.
  case body([UInt8])
  /// A publisher asked for an event, to see whether the endpoint works.
  case test(eventId: EventId, time: Int64?)

  /// Reads an event; `nil` if the format has no shape for it.
  init?(_ event: WebhookEvent, _ format: WebhookEndpoint.Format) {
    if event.topic == EventTopic.test {
      self = .test(eventId: event.id, time: event.time)
      return
    }
    guard format.topics.contains(event.topic),
      let text = try? JSONText(event.body, limits: .own), let envelope = try? JSONObject(text),
      let data = envelope.objectText("data")
    else { return nil }
    self = .body(data)
  }
}

/// An event as an endpoint gets it.
public struct WebhookEvent: Sendable {
  /// The event's id.
  public let id: EventId
  /// Its topic.
  public let topic: EventTopic
  /// When it happened, in milliseconds since 1970.
  public let time: Int64?
  /// The published body, byte for byte.
  public let body: [UInt8]

  /// Creates an event.
  public init(id: EventId, topic: EventTopic, time: Int64?, body: [UInt8]) {
    (self.id, self.topic, self.time, self.body) = (id, topic, time, body)
  }
}

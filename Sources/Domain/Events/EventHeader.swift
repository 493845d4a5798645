/// The value of a header that travels with an event.
public enum EventHeader: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  case string(String)
  case int(Int64)
  case bool(Bool)

  /// Creates a text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates a number.
  public init(integerLiteral value: Int64) { self = .int(value) }

  /// The text, if it is one.
  public var string: String? { if case .string(let text) = self { text } else { nil } }
  /// The number, if it is one.
  public var int: Int64? { if case .int(let number) = self { number } else { nil } }

  /// The name of the version of what an event tells about. It grows, so a consumer can drop older events.
  public static let version = "version"
  /// The name of the trace (W3C Trace Context).
  public static let traceparent = "traceparent"

  /// Whether a header is an event's own. Those of a broker do not stay with the event.
  public static func isOfEvent(_ name: String) -> Bool {
    name.hasPrefix(CloudEventsAttributes.prefix) || name == traceparent || name == version
  }
}

extension Event {
  /// The headers of every publish and delivery of the event: the attributes of CloudEvents, trace and version.
  public var headers: [String: EventHeader] {
    var headers = CloudEventsAttributes.headers(id: id, publisher: publisherId, topic: topic, at: time)
    headers[EventHeader.version] = version.map(EventHeader.int)
    headers[EventHeader.traceparent] = traceparent.map(EventHeader.string)
    return headers
  }
}

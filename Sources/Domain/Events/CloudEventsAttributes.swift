import Formats

/// The attributes of CloudEvents 1.0, under the names that they have as headers (CloudEvents AMQP Protocol Binding,
/// section 3.1).
public enum CloudEventsAttributes {
  /// The first part of every header's name.
  public static let prefix = "cloudEvents_"
  /// The header that holds the time of the event.
  public static let time = prefix + "time"
  /// The header that names the event's publisher.
  public static let source = prefix + "source"

  private static let sourceOfPublisher = "/countersign/"

  /// The publisher that ``source`` names; `nil` for any other text.
  public static func publisher(_ source: String) -> PublisherId? {
    source.hasPrefix(sourceOfPublisher) ? PublisherId(source.dropFirst(sourceOfPublisher.count)) : nil
  }

  /// Returns the headers of one event.
  ///
  /// - Parameter milliseconds: when the event happened, in milliseconds since 1970.
  public static func headers(
    id: EventId, publisher: PublisherId, topic: EventTopic, at milliseconds: Int64
  ) -> [String: EventHeader] {
    [
      "cloudEvents_specversion": "1.0",
      "cloudEvents_id": .string(id.text),
      source: .string("\(sourceOfPublisher)\(publisher)"),
      "cloudEvents_type": .string(topic.text),
      time: .string(rfc3339(milliseconds: milliseconds)),
    ]
  }
}

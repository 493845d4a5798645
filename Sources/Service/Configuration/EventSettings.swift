import Domain
import Formats

/// Who gets the events over AMQP.
public struct EventSettings: Sendable {
  /// The subscribers with an exchange and a pace of their own. Everybody else shares one.
  public var subscribers: [String]

  static let key = "events.subscribers"
  private static let most = 32

  init(_ reader: SettingsReader) {
    subscribers = reader.strings(
      Self.key, [],
      "Names of subscribers that have their own exchange, `countersign.events.<name>`. A slow or full subscriber then "
        + "delays no other.")
    for name in subscribers where !EventSubscriber.isName(name) {
      reader.note(Self.key, "has \"\(name)\", expected 1 to 64 of a-z, 0-9 and -, and not \(EventSubscriber.shared)")
    }
    if subscribers.hasRepetition { reader.note(Self.key, "has a name twice") }
    if subscribers.count > Self.most {
      reader.note(Self.key, "has \(subscribers.count) names, expected at most \(Self.most)")
    }
  }
}

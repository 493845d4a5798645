import Formats
import JSON

/// A notification of Apple's on its way to a URL of the publisher's file.
///
/// The message only names the notification. The notifier reads the body from the ledger, so a URL that is down for
/// hours does not fill the broker.
extension Delivery {
  /// No endpoint can subscribe to this topic, and nothing is published under it.
  static let notificationTopic: EventTopic = "appleNotification"
  private static let prefix = "ntf_"

  /// The name of a notification among deliveries and attempts; `nil` for a UUID of which Apple has none.
  public static func id(of notification: NotificationKey) -> EventId? {
    let uuid = notification.uuid.text
    guard (1...64).contains(uuid.utf8.count),
      uuid.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") })
    else { return nil }
    return EventId("\(prefix)\(notification.publisherId)_\(uuid)")
  }

  /// Creates the first attempt to pass a notification on.
  public init?(_ notification: NotificationKey, to forward: EndpointId) {
    guard let id = Self.id(of: notification) else { return nil }
    let body = JSONWriter.object { envelope in
      envelope.member("broadcasterId", notification.publisherId.number)
      envelope.member("topic", Self.notificationTopic)
    }
    do throws(Malformed) {
      try self.init(eventId: id, endpointId: forward, headers: [:], body: body)
    } catch {
      return nil
    }
  }

  /// The notification that is passed on; `nil` for an event.
  public var notification: NotificationKey? {
    topic == Self.notificationTopic ? Self.notification(named: eventId) : nil
  }

  /// Reads ``id(of:)``.
  public static func notification(named id: EventId) -> NotificationKey? {
    guard id.text.hasPrefix(prefix) else { return nil }
    let parts = id.text.dropFirst(prefix.count).split(separator: "_", maxSplits: 1)
    guard parts.count == 2, let publisher = PublisherId(parts[0]) else { return nil }
    let key = NotificationKey(publisherId: publisher, uuid: NotificationUUID(String(parts[1])))
    return self.id(of: key) == id ? key : nil
  }
}

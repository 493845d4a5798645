/// Apple's id of a notification, `notificationUUID`: the same when Apple posts it again, and in Notification History.
///
/// Apple writes a UUID. The verifier takes any text of 1 to 256 bytes in UTF-8 without a NUL character.
public struct NotificationUUID: Identifier {
  public let text: String

  @inlinable public init(_ text: String) { self.text = text }
}

public import Domain

/// A signed App Store Server Notification, version 2. It has exactly one of the four bodies.
public struct NotificationPayload: Hashable, Sendable, Codable {
  /// The event.
  public var notificationType: NotificationType?
  /// More about it.
  public var subtype: NotificationSubtype?
  /// The id of the notification, the same when Apple sends it again.
  public var notificationUUID: NotificationUUID?
  /// `2.0`.
  public var version: String?
  /// When Apple signed, in milliseconds since 1970.
  public var signedDate: Int64?
  /// The change of one purchase.
  public var data: NotificationData?
  /// The result of a mass extension.
  public var summary: NotificationSummary?
  /// A token for purchases outside the App Store.
  public var externalPurchaseToken: ExternalPurchaseToken?
  /// A change of the app itself, not of a purchase.
  public var appData: NotificationAppData?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}

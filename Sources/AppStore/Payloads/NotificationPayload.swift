/// A signed App Store Server Notification, version 2; exactly one of the four bodies is there.
public struct NotificationPayload: Hashable, Sendable, Codable {
  /// The event.
  public var notificationType: NotificationType?
  /// More about it.
  public var subtype: NotificationSubtype?
  /// The id of the notification, the same when Apple sends it again.
  public var notificationUUID: String?
  /// `2.0`.
  public var version: String?
  /// When Apple signed, in milliseconds since 1970.
  public var signedDate: Int64?
  /// What happened to one purchase.
  public var data: NotificationData?
  /// How a mass extension went.
  public var summary: NotificationSummary?
  /// A token for purchases outside the App Store.
  public var externalPurchaseToken: ExternalPurchaseToken?
  /// What happened to the app as such.
  public var appData: NotificationAppData?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}

public import Domain

/// The request for Get Notification History: a range and its filters.
public struct NotificationHistoryRequest: Hashable, Sendable, Codable {
  /// The start of the range, in milliseconds since 1970; at most 180 days ago, 30 in the sandbox.
  public var startDate: Int64
  /// The end of the range.
  public var endDate: Int64
  /// Only this type; not together with a transaction.
  public var notificationType: NotificationType?
  /// Only this subtype.
  public var notificationSubtype: NotificationSubtype?
  /// Only about the customer of this transaction; not together with a type.
  public var transactionId: TransactionId?
  /// Only notifications that did not arrive.
  public var onlyFailures: Bool?

  /// Creates a request for everything in a range.
  public init(startDate: Int64, endDate: Int64) {
    self.startDate = startDate
    self.endDate = endDate
  }
}

/// A page of Get Notification History.
public struct NotificationHistoryResponse: Hashable, Sendable, Codable {
  /// The notifications.
  public var notificationHistory: [SentNotification]?
  /// The token to pass for the next page.
  public var paginationToken: String?
  /// Whether there is a next page.
  public var hasMore: Bool?
}

/// A notification and how often Apple tried to send it.
public struct SentNotification: Hashable, Sendable, Codable {
  /// The notification, signed.
  public var signedPayload: String?
  /// The attempts, up to six.
  public var sendAttempts: [SendAttempt]?

  /// One attempt.
  public struct SendAttempt: Hashable, Sendable, Codable {
    /// When, in milliseconds since 1970.
    public var attemptDate: Int64?
    /// `SUCCESS`, or the kind of failure.
    public var sendAttemptResult: String?
  }
}

/// The answer to the request for a test notification.
public struct TestNotificationResponse: Hashable, Sendable, Codable {
  /// Names the test when its status is asked for.
  public var testNotificationToken: String?
}

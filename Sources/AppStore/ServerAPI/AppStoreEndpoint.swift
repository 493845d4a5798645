public import Domain

/// The calls of the API, by the names of Apple's rate limits and so of a fleet's budgets.
///
/// The limits differ, so the calls that Countersign does not make yet are here too.
public enum AppStoreEndpoint: String, CaseIterable, Sendable {
  /// Get Transaction Info.
  case transactionInfo = "transaction-info"
  /// Get All Subscription Statuses.
  case subscriptionStatuses = "subscription-statuses"
  /// Get Transaction History, version 2.
  case transactionHistory = "transaction-history"
  /// Get Notification History.
  case notificationHistory = "notification-history"
  /// Request a Test Notification.
  case testNotification = "test-notification"
  /// Get Test Notification Status.
  case testNotificationStatus = "test-notification-status"
  /// Send Consumption Information, version 2.
  case consumption
  /// Look Up Order ID.
  case orderLookup = "order-lookup"

  /// Calls per second that Apple allows one app in production, as documented in 2026; Apple may change it at any time.
  public var productionCallsPerSecond: Int {
    switch self {
    case .transactionInfo, .subscriptionStatuses, .transactionHistory, .notificationHistory, .consumption: 50
    case .orderLookup: 10
    case .testNotification, .testNotificationStatus: 1
    }
  }

  /// Calls per second that Apple allows one app in an environment: the sandbox gets a tenth.
  public func callsPerSecond(in environment: Environment) -> Double {
    environment == .production ? Double(productionCallsPerSecond) : Double(productionCallsPerSecond) / 10
  }
}

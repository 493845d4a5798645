public import Domain
import Formats

extension AppStoreServerAPI {
  /// Returns a page of the notifications that Apple sent or tried to send. Pass the last token to get the next page.
  public func notificationHistory(
    _ request: NotificationHistoryRequest, paginationToken: String? = nil, in environment: Environment,
    for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<NotificationHistoryResponse> {
    var call = AppStoreCall(.notificationHistory, "POST", path: "/inApps/v1/notifications/history")
    call.add(query: [(name: "paginationToken", value: paginationToken)])
    try call.set(body: request)
    return try await answer(to: self.request(for: call, in: environment, of: app))
  }

  /// Lets Apple post a notification of the type `TEST` to the URL of App Store Connect.
  public func requestTestNotification(
    in environment: Environment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<TestNotificationResponse> {
    let call = AppStoreCall(.testNotification, "POST", path: "/inApps/v1/notifications/test")
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  /// Returns a test notification and what became of it. Until Apple knows, the answer is an error
  /// (``AppStoreErrorCode/testNotificationNotFound``) or has no attempt.
  public func testNotificationStatus(
    _ token: String, in environment: Environment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<SentNotification> {
    let path = "/inApps/v1/notifications/test/\(PercentCoding.encoded(token))"
    let call = AppStoreCall(.testNotificationStatus, path: path)
    return try await answer(to: request(for: call, in: environment, of: app))
  }
}

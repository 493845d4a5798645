extension AppStoreServerAPI {
  /// Returns a page of the notifications that Apple sent or tried to send. Pass the last token to get the next page.
  public func notificationHistory(
    _ request: NotificationHistoryRequest, paginationToken: String? = nil, in environment: AppStoreEnvironment,
    for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<NotificationHistoryResponse> {
    var call = AppStoreCall(.notificationHistory, "POST", path: "/inApps/v1/notifications/history")
    call.add(query: [(name: "paginationToken", value: paginationToken)])
    try call.set(body: request)
    return try await answer(to: self.request(for: call, in: environment, of: app))
  }

  /// Asks Apple to send a notification of type ``NotificationType/test``.
  public func requestTestNotification(
    in environment: AppStoreEnvironment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<TestNotificationResponse> {
    let call = AppStoreCall(.testNotification, "POST", path: "/inApps/v1/notifications/test")
    return try await answer(to: self.request(for: call, in: environment, of: app))
  }

  /// Returns the fate of a test notification.
  public func testNotificationStatus(
    _ token: String, in environment: AppStoreEnvironment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<SentNotification> {
    guard AppStoreIdentifier.isTestNotificationToken(token) else {
      throw AppStoreAPIError(
        .invalidRequest("this is not the token of a test notification"), endpoint: .testNotificationStatus)
    }
    let call = AppStoreCall(.testNotificationStatus, path: "/inApps/v1/notifications/test/\(token)")
    return try await answer(to: self.request(for: call, in: environment, of: app))
  }
}

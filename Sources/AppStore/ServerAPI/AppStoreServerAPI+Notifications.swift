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
}

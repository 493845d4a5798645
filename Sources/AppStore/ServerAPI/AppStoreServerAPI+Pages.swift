/// The elements of all pages, and where to go on later.
public struct AppStorePages<Element: Sendable>: Sendable {
  /// Everything, in Apple's order.
  public var elements: [Element] = []
  /// What the last page said to go on with: for a transaction history, keep it to ask for what is new since then.
  public var next: String?
}

extension AppStoreServerAPI {
  /// Returns the customer's transactions in the app, each signed, from all pages.
  ///
  /// - Parameters:
  ///   - filter: in ascending order, the default, `next` can be kept for later (Get Transaction History).
  ///   - revision: the `next` of an earlier call: only what is new since then.
  ///   - pages: at most so many, of twenty transactions each; what is there beyond them follows `next`.
  public func allTransactions(
    _ transactionId: String, filter: TransactionHistoryFilter = TransactionHistoryFilter(),
    since revision: String? = nil, in environment: AppStoreEnvironment, for app: AppCredentials, pages: Int = 1000
  ) async throws(AppStoreAPIError) -> AppStorePages<String> {
    try await collect(.transactionHistory, from: revision, pages) { revision throws(AppStoreAPIError) in
      let page = try await transactionHistory(
        transactionId, filter: filter, revision: revision, in: environment, for: app
      ).body
      return (page.signedTransactions ?? [], page.revision, page.hasMore ?? false)
    }
  }

  /// Returns the notifications that Apple sent or tried to send, from all pages.
  public func allNotifications(
    _ request: NotificationHistoryRequest, in environment: AppStoreEnvironment, for app: AppCredentials,
    pages: Int = 1000
  ) async throws(AppStoreAPIError) -> AppStorePages<SentNotification> {
    try await collect(.notificationHistory, from: nil, pages) { token throws(AppStoreAPIError) in
      let page = try await notificationHistory(request, paginationToken: token, in: environment, for: app).body
      return (page.notificationHistory ?? [], page.paginationToken, page.hasMore ?? false)
    }
  }

  private func collect<Element: Sendable>(
    _ endpoint: AppStoreEndpoint, from start: String?, _ pages: Int,
    _ page: (String?) async throws(AppStoreAPIError) -> (elements: [Element], next: String?, hasMore: Bool)
  ) async throws(AppStoreAPIError) -> AppStorePages<Element> {
    var result = AppStorePages<Element>(next: start)
    for _ in 0..<pages {
      let (elements, next, hasMore) = try await page(result.next)
      result.elements += elements
      // A page that says that there is more and not where would be asked for again and again.
      if hasMore, next == nil || next == result.next {
        throw AppStoreAPIError(.malformedAnswer, endpoint: endpoint, message: "a page that does not lead to the next")
      }
      result.next = next ?? result.next
      if !hasMore { break }
    }
    return result
  }
}

public import Domain

/// The elements of all pages, and the place where a later call goes on.
public struct AppStorePages<Element: Sendable>: Sendable {
  /// All elements, in Apple's order.
  public var elements: [Element] = []
  /// The token or revision of the last page. Keep that of a transaction history to ask for the changes since then.
  public var next: String?
}

extension AppStoreServerAPI {
  /// Returns the customer's transactions in the app, each signed, from all pages.
  ///
  /// - Parameters:
  ///   - filter: in ascending order, the default, `next` can be kept for later (Get Transaction History).
  ///   - revision: the `next` of an earlier call; the answer then has only the changes since that call.
  ///   - pages: the most pages to read, of twenty transactions each. A call with `next` reads the pages beyond them.
  public func allTransactions(
    _ transactionId: TransactionId, filter: TransactionHistoryFilter = TransactionHistoryFilter(),
    since revision: String? = nil, in environment: Environment, for app: AppCredentials, pages: Int = 1000
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
    _ request: NotificationHistoryRequest, in environment: Environment, for app: AppCredentials,
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
      // If a page says that there is more, but not where, the loop would ask for it again and again.
      if hasMore, next == nil || next == result.next {
        throw AppStoreAPIError(.malformedAnswer, endpoint: endpoint, message: "a page that does not lead to the next")
      }
      result.next = next ?? result.next
      if !hasMore { break }
    }
    return result
  }
}

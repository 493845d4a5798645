public import Domain

extension AppStoreServerAPI {
  /// Returns one transaction; the id may be any transaction id of the purchase.
  public func transactionInfo(
    _ transactionId: TransactionId, in environment: Environment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<TransactionInfoResponse> {
    let id = try Self.checked(transactionId, for: .transactionInfo)
    let call = AppStoreCall(.transactionInfo, path: "/inApps/v1/transactions/\(id)")
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  /// Returns the state of all the customer's subscriptions in the app. The id may be any id of the customer's
  /// transactions.
  public func subscriptionStatuses(
    _ transactionId: TransactionId, in environment: Environment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<SubscriptionStatusesResponse> {
    let id = try Self.checked(transactionId, for: .subscriptionStatuses)
    let call = AppStoreCall(.subscriptionStatuses, path: "/inApps/v1/subscriptions/\(id)")
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  static func checked(
    _ transactionId: TransactionId, for endpoint: AppStoreEndpoint
  ) throws(AppStoreAPIError) -> String {
    guard TransactionId.isValid(transactionId.text) else {
      throw AppStoreAPIError(.invalidRequest("this is not a transaction id"), endpoint: endpoint)
    }
    return transactionId.text
  }
}

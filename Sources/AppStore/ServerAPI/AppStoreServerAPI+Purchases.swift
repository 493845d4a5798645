import Domain

extension AppStoreServerAPI {
  /// Returns one transaction; the id may be any transaction id of the purchase.
  public func transactionInfo(
    _ transactionId: String, in environment: AppStoreEnvironment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<TransactionInfoResponse> {
    let id = try Self.checked(transactionId, for: .transactionInfo)
    let call = AppStoreCall(.transactionInfo, path: "/inApps/v1/transactions/\(id)")
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  /// Returns the state of all the customer's subscriptions in the app; the id may be any of the customer's.
  public func subscriptionStatuses(
    _ transactionId: String, in environment: AppStoreEnvironment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<SubscriptionStatusesResponse> {
    let id = try Self.checked(transactionId, for: .subscriptionStatuses)
    let call = AppStoreCall(.subscriptionStatuses, path: "/inApps/v1/subscriptions/\(id)")
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  /// Returns a page of the customer's transactions in the app; pass the last revision to get the next one.
  ///
  /// The filter must be the same for all pages.
  public func transactionHistory(
    _ transactionId: String, filter: TransactionHistoryFilter = TransactionHistoryFilter(), revision: String? = nil,
    in environment: AppStoreEnvironment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<TransactionHistoryResponse> {
    let id = try Self.checked(transactionId, for: .transactionHistory)
    var call = AppStoreCall(.transactionHistory, path: "/inApps/v2/history/\(id)")
    call.add(query: [(name: "revision", value: revision)] + filter.query)
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  /// Returns a page of the customer's refunded transactions in the app; pass the last revision to get the next one.
  public func refundHistory(
    _ transactionId: String, revision: String? = nil, in environment: AppStoreEnvironment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<RefundHistoryResponse> {
    let id = try Self.checked(transactionId, for: .refundHistory)
    var call = AppStoreCall(.refundHistory, path: "/inApps/v2/refund/lookup/\(id)")
    call.add(query: [(name: "revision", value: revision)])
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  /// Returns the transactions of an order id from a customer's receipt by mail; production only.
  public func orderLookup(
    _ orderId: String, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<OrderLookupResponse> {
    guard AppStoreIdentifier.isOrderId(orderId) else {
      throw AppStoreAPIError(.invalidRequest("this is not an order id"), endpoint: .orderLookup)
    }
    let call = AppStoreCall(.orderLookup, path: "/inApps/v1/lookup/\(orderId)")
    return try await answer(to: request(for: call, in: .production, of: app))
  }

  /// Returns the customer's app transaction; the id may be any of the customer's.
  public func appTransactionInfo(
    _ transactionId: String, in environment: AppStoreEnvironment, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<AppTransactionInfoResponse> {
    let id = try Self.checked(transactionId, for: .appTransactionInfo)
    let call = AppStoreCall(.appTransactionInfo, path: "/inApps/v1/transactions/appTransactions/\(id)")
    return try await answer(to: request(for: call, in: environment, of: app))
  }

  /// Ties a purchase to a customer of the app, by a UUID.
  public func setAppAccountToken(
    _ token: String, ofOriginalTransaction originalTransactionId: String, in environment: AppStoreEnvironment,
    for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppleCorrelation {
    let id = try Self.checked(originalTransactionId, for: .appAccountToken)
    var call = AppStoreCall(.appAccountToken, "PUT", path: "/inApps/v1/transactions/\(id)/appAccountToken")
    try call.set(body: ["appAccountToken": token])
    return try await confirmation(of: request(for: call, in: environment, of: app))
  }

  /// Answers a consumption request, within twelve hours of its notification.
  public func sendConsumption(
    _ consumption: ConsumptionRequest, ofTransaction transactionId: String, in environment: AppStoreEnvironment,
    for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppleCorrelation {
    let id = try Self.checked(transactionId, for: .consumption)
    var call = AppStoreCall(.consumption, "PUT", path: "/inApps/v2/transactions/consumption/\(id)")
    try call.set(body: consumption)
    return try await confirmation(of: request(for: call, in: environment, of: app))
  }

  private static func checked(
    _ transactionId: String, for endpoint: AppStoreEndpoint
  ) throws(AppStoreAPIError) -> String {
    guard TransactionIdentifier.isValid(transactionId) else {
      throw AppStoreAPIError(.invalidRequest("this is not a transaction id"), endpoint: endpoint)
    }
    return transactionId
  }
}

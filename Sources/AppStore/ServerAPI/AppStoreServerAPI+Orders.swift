public import Domain

extension AppStoreServerAPI {
  /// Returns the transactions of an order; the id is that of the receipt that Apple sends by e-mail.
  ///
  /// Apple names no address of the sandbox, whose purchases have no such e-mail: only production is asked.
  public func lookUpOrder(
    _ orderId: OrderId, for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppStoreAnswer<OrderLookupResponse> {
    guard orderId.isValid else {
      throw AppStoreAPIError(.invalidRequest("this is not an order id"), endpoint: .orderLookup)
    }
    let call = AppStoreCall(.orderLookup, path: "/inApps/v1/lookup/\(orderId)")
    return try await answer(to: request(for: call, in: .production, of: app))
  }
}

public import Domain

extension AppStoreServerAPI {
  /// Tells Apple about the consumption of a transaction whose customer wants the money back.
  ///
  /// This is version 2 of Send Consumption Information. Version 1 is not needed: Apple deprecated it in December 2025,
  /// version 2 takes answers about every kind of product, and version 1 asks for facts about the customer's account
  /// that Countersign does not have.
  ///
  /// A call of which nobody knows how it ended may be made again. It is a PUT on a resource that the transaction names:
  /// the same body again puts the same answer in the place of the same answer (RFC 9110, section 9.2.2).
  public func sendConsumption(
    _ answer: ConsumptionAnswer, about transactionId: TransactionId, in environment: Environment,
    for app: AppCredentials
  ) async throws(AppStoreAPIError) -> AppleCorrelation {
    let id = try Self.checked(transactionId, for: .consumption)
    var call = AppStoreCall(.consumption, "PUT", path: "/inApps/v2/transactions/consumption/\(id)")
    call.set(json: answer.body)
    return try await confirmation(of: request(for: call, in: environment, of: app))
  }
}

package import Domain

/// Purchases by value. Times are days; the purchase is of publisher 7.
package enum TestPurchases {
  package static let day: Int64 = 86_400_000
  /// Any moment, so that no test rests on small numbers.
  package static let start: Int64 = 1_700_000_000_000

  package static func at(_ days: Double) -> Int64 { start + Int64(days * Double(day)) }

  package static func key(
    _ original: OriginalTransactionId = "1", in environment: Environment = "Production", of publisher: PublisherId = 7
  )
    -> PurchaseKey
  {
    PurchaseKey(publisherId: publisher, environment: environment, originalTransactionId: original)
  }

  /// A transaction. If nothing says otherwise, Apple signed it when it was bought.
  package static func transaction(
    _ id: TransactionId = "1", of original: OriginalTransactionId = "1", _ kind: ProductKind = .autoRenewable,
    _ product: ProductId = "monthly",
    in environment: Environment = "Production", bought: Double = 0, expires: Double? = nil, revoked: Double? = nil,
    isUpgraded: Bool = false, ownership: String? = "PURCHASED", token: AppAccountToken? = nil, signed: Double? = nil,
    digest: UInt8 = 0
  ) -> TransactionFacts {
    TransactionFacts(
      transactionId: id, originalTransactionId: original, bundleId: "com.example", productId: product, kind: kind,
      environment: environment, purchaseDate: at(bought), expiresDate: expires.map(at), revocationDate: revoked.map(at),
      isUpgraded: isUpgraded, ownershipType: ownership, appAccountToken: token, signedDate: at(signed ?? bought),
      payloadSHA256: [digest])
  }

  package static func renewal(
    of original: OriginalTransactionId = "1", in environment: Environment = "Production", willRenew: Bool? = nil,
    grace: Double? = nil,
    isInRetry: Bool? = nil, signed: Double, digest: UInt8 = 0
  ) -> RenewalFacts {
    RenewalFacts(
      originalTransactionId: original, environment: environment, willRenew: willRenew, graceExpiresDate: grace.map(at),
      isInBillingRetry: isInRetry, signedDate: at(signed), payloadSHA256: [digest])
  }

  package static func purchase(
    _ transactions: TransactionFacts..., renewal: RenewalFacts? = nil, status: ReportedStatus? = nil,
    owner: CustomerId? = nil, version: Int64 = 0
  ) -> Purchase {
    let first = transactions[0]
    let key = key(first.originalTransactionId, in: first.environment)
    let purchase = Purchase(
      key, transactions: transactions, renewal: renewal, status: status,
      owner: owner.map { Owner(customerId: $0, subscriptionId: 1) }, version: version)
    guard let purchase else { preconditionFailure("A purchase has a transaction.") }
    return purchase
  }

  package static func evidence(_ facts: Evidence.Facts) -> Evidence {
    Evidence(facts, source: .serverAPI, signedHeader: [1], payload: [2], signature: [3])
  }
}

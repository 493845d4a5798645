package import Domain

/// Purchases and a publisher by value, for answers.
package enum AnsweredPurchases {
  /// 2026-11-22T10:00:00.000Z.
  package static let now: Int64 = 1_795_341_600_000
  package static let day: Int64 = 86_400_000

  package static func publisher(
    _ offers: [Offer] = [Offer(id: "S1", productIds: ["monthly"]), Offer(id: "P1", productIds: ["pass"])],
    sandbox: SandboxAccess = .nobody, customers: Publisher.CustomerPolicy = .registered
  ) -> Publisher {
    Publisher(
      id: 7, customers: customers, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog(offers),
      sandboxAccess: sandbox, webhooks: [])
  }

  package static func transaction(
    _ id: TransactionId = "101", of original: OriginalTransactionId = "100", _ product: ProductId = "monthly",
    _ kind: ProductKind = .autoRenewable, in environment: Environment = "Production", bought: Int64 = now - 10 * day,
    expires: Int64? = now + 20 * day
  ) -> TransactionFacts {
    TransactionFacts(
      transactionId: id, originalTransactionId: original, bundleId: "com.example", productId: product, kind: kind,
      environment: environment, purchaseDate: bought, expiresDate: expires, ownershipType: "PURCHASED",
      signedDate: bought + 1000, payloadSHA256: [1])
  }

  package static func purchase(
    _ facts: TransactionFacts..., renewal: RenewalFacts? = nil, owner: CustomerId? = "42", version: Int64 = 3
  ) -> Purchase {
    let key = PurchaseKey(
      publisherId: 7, environment: facts[0].environment, originalTransactionId: facts[0].originalTransactionId)
    let purchase = Purchase(
      key, transactions: facts, renewal: renewal, owner: owner.map { Owner(customerId: $0, subscriptionId: 1801) },
      version: version)
    guard let purchase else { preconditionFailure("A purchase has a transaction.") }
    return purchase
  }

  package static func renewal(of original: OriginalTransactionId = "100", willRenew: Bool = true) -> RenewalFacts {
    RenewalFacts(
      originalTransactionId: original, environment: "Production", willRenew: willRenew, nextProductId: "monthly",
      isInBillingRetry: false, signedDate: now - 9 * day, payloadSHA256: [2])
  }
}

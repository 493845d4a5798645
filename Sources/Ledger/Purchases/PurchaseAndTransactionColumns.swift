import Domain

/// A record with the facts of a transaction: `transactions` has them of each, `purchases` of the one that decides.
protocol FactsRecord: Sendable {
  var facts: TransactionFacts { get set }
}

extension TransactionFacts {
  static let blank = TransactionFacts(
    transactionId: "", originalTransactionId: "", bundleId: "", productId: "", kind: .consumable, environment: "",
    purchaseDate: 0, signedDate: 0, payloadSHA256: [])
}

extension Columns where Record: FactsRecord {
  /// The columns of the facts that both tables have.
  ///
  /// - Parameter ofPurchase: an export shows a purchase's deciding transaction among its transactions, and there in
  ///   full.
  @inline(__always)
  mutating func facts(ofPurchase: Bool) {
    required(
      "environment", .id(of: Environment.self), { $0.facts.environment }, { $0.facts.environment = $1 },
      export: "environment")
    required(
      "original_transaction_id", .id(of: OriginalTransactionId.self), { $0.facts.originalTransactionId },
      { $0.facts.originalTransactionId = $1 },
      export: "originalTransactionId")
    required(
      "transaction_id", .id(of: TransactionId.self), { $0.facts.transactionId }, { $0.facts.transactionId = $1 },
      export: "transactionId")
    required(
      "bundle_id", .id(of: BundleId.self), { $0.facts.bundleId }, { $0.facts.bundleId = $1 }, export: "bundleId")
    required(
      "product_id", .id(of: ProductId.self), { $0.facts.productId }, { $0.facts.productId = $1 }, export: "productId")
    required(
      "kind", .name(of: ProductKind.self), { $0.facts.kind }, { $0.facts.kind = $1 }, export: "type")
    required(
      "purchase_date", .timestamptz, { $0.facts.purchaseDate }, { $0.facts.purchaseDate = $1 }, export: "purchaseDate")
    optional(
      "original_purchase_date", .timestamptz, { $0.facts.originalPurchaseDate }, { $0.facts.originalPurchaseDate = $1 })
    optional(
      "expires_date", .timestamptz, { $0.facts.expiresDate }, { $0.facts.expiresDate = $1 }, export: "expiresDate")
    optional(
      "revocation_date", .timestamptz, { $0.facts.revocationDate }, { $0.facts.revocationDate = $1 },
      export: "revocationDate")
    optional("revocation_type", .text, { $0.facts.revocationType }, { $0.facts.revocationType = $1 })
    optional(
      "revocation_percentage", .integer, { $0.facts.revocationPercentage }, { $0.facts.revocationPercentage = $1 })
    required("is_upgraded", .boolean, { $0.facts.isUpgraded }, { $0.facts.isUpgraded = $1 })
    optional(
      "ownership_type", .text, { $0.facts.ownershipType }, { $0.facts.ownershipType = $1 }, export: "ownershipType")
    optional(
      "quantity", .integer, { $0.facts.quantity }, { $0.facts.quantity = $1 }, export: ofPurchase ? nil : "quantity")
    optional("price", .bigint, { $0.facts.price }, { $0.facts.price = $1 }, export: "price")
    optional(
      "currency", .id(of: CurrencyCode.self), { $0.facts.currency }, { $0.facts.currency = $1 }, export: "currency")
    optional("offer_type", .integer, { $0.facts.offerType }, { $0.facts.offerType = $1 })
    optional("offer_identifier", .text, { $0.facts.offerIdentifier }, { $0.facts.offerIdentifier = $1 })
    optional("offer_discount_type", .text, { $0.facts.offerDiscountType }, { $0.facts.offerDiscountType = $1 })
    optional("storefront", .text, { $0.facts.storefront }, { $0.facts.storefront = $1 })
    // Apple signed it: it is part of the evidence.
    optional(
      "app_account_token", .uuid(of: AppAccountToken.self), { $0.facts.appAccountToken },
      { $0.facts.appAccountToken = $1 }, export: "appAccountToken", person: .stays)
    optional(
      "previous_original_transaction_id", .id(of: OriginalTransactionId.self),
      { $0.facts.previousOriginalTransactionId },
      { $0.facts.previousOriginalTransactionId = $1 })
    required(
      "signed_date", .timestamptz, { $0.facts.signedDate }, { $0.facts.signedDate = $1 },
      export: ofPurchase ? nil : "signedDate")
    required("payload_sha256", .bytea, { $0.facts.payloadSHA256 }, { $0.facts.payloadSHA256 = $1 })
  }
}

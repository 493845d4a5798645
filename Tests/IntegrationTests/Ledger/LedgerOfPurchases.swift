import Crypto
import Domain
import EventLoop
import Ledger
import Postgres
import ServerSupport

/// A ledger with purchases of publisher 7, for tests that read and change them.
@LoopActor
struct LedgerOfPurchases {
  let postgres: PostgresClient
  let commits: Commits

  nonisolated static let now: Int64 = 1_795_341_600_000
  nonisolated static let day: Int64 = 86_400_000

  /// Makes a database with the schema, runs a body, and deletes the database.
  static func with(_ body: @LoopActor (LedgerOfPurchases) async throws -> Void) async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint) { client in
        try await body(LedgerOfPurchases(client))
      }
    }
  }

  init(_ client: PostgresClient) {
    postgres = client
    commits = Commits(client, Commits.Settings(connections: 1, now: { Self.now }))
  }

  nonisolated static func publisher(
    _ offers: [OfferId: [ProductId]] = ["S1": ["monthly"]], sandbox: SandboxAccess = .everybody
  ) -> Publisher {
    Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
      offers: OfferCatalog(
        offers.sorted { $0.key < $1.key }.map { Offer(id: $0.key, productIds: $0.value) }), sandboxAccess: sandbox,
      webhooks: [])
  }

  nonisolated static func key(_ original: String, in environment: Environment = "Production") -> PurchaseKey {
    PurchaseKey(publisherId: 7, environment: environment, originalTransactionId: OriginalTransactionId(original))
  }

  /// Registers a purchase for a customer, as a worker does.
  @discardableResult
  func register(
    _ original: String, for customer: CustomerId, transaction: String? = nil,
    in environment: Environment = "Production", product: ProductId = "monthly", kind: ProductKind = .autoRenewable,
    endsIn days: Int64 = 9, as id: SynchronizationId? = nil,
    _ job: Job.Kind = .registration, publisher: Publisher = publisher()
  ) async throws -> Finalized {
    let transaction = transaction ?? original
    let facts = TransactionFacts(
      transactionId: TransactionId(transaction), originalTransactionId: OriginalTransactionId(original),
      bundleId: "com.example", productId: product, kind: kind, environment: environment,
      purchaseDate: Self.now - Self.day, expiresDate: Self.now + days * Self.day,
      signedDate: Self.now - Self.day, payloadSHA256: SHA256.hash(Array("\(transaction) \(days)".utf8)))
    let evidence = Evidence(.transaction(facts), source: .serverAPI, signedHeader: [1], payload: [2], signature: [3])
    let job = Job(
      synchronizationId: id ?? "\(original)-\(transaction)-\(environment)", publisherId: publisher.id,
      customerId: customer,
      transactionId: TransactionId(transaction), kind: job, registeredAt: Self.now)
    let key = PurchaseKey(
      publisherId: publisher.id, environment: environment, originalTransactionId: OriginalTransactionId(original))
    return try await commits.finalize(
      FinalizationRequest(job, .evidence(key, [evidence]), publisher: publisher)
    ).taken()
  }

  /// The number in the first column of the only row.
  func number(_ sql: String) async throws -> Int64? { try await postgres.run(sql).first?.int64(0) }
  /// The texts in the first column.
  func texts(_ sql: String) async throws -> [String] { try await postgres.run(sql).compactMap { $0.text(0) } }
}

import AppStore
import Crypto
import Domain
import EventLoop
import Fleets
import JSON
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// A ledger with several workers' commits. Each worker has a client of its own.
@LoopActor
final class CommitLab {
  let endpoint: PostgresEndpoint
  let clients: [PostgresClient]
  let workers: [TakingCommits]
  /// The failures that the commits met, before they tried again or gave up.
  let failures = Failures()

  @LoopActor final class Failures { var all: [any Error] = [] }

  nonisolated static let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([
      Offer(id: "S1", productIds: ["monthly", "yearly"]), Offer(id: "L1", productIds: ["lifetime"]),
      Offer(id: "C1", productIds: ["coins"]),
    ]), webhooks: [])
  /// Any moment; the clock of all workers.
  nonisolated static let now: Int64 = 1_700_000_000_000

  /// Runs a body with a new ledger, and checks the ledger then.
  static func with(
    workers count: Int = 1, connections: Int = 2, audience: EventAudience = [], isChecked: Bool = true,
    _ body: @LoopActor (CommitLab) async throws -> Void
  ) async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      let lab = CommitLab(endpoint, count, connections, audience)
      do {
        for client in lab.clients {
          client.start()
          try await eventually("the client is ready") { client.isReady }
        }
        try await body(lab)
        if isChecked {
          let differences = try await lab.differences()
          #expect(differences.isEmpty, "\(differences.prefix(5).joined(separator: "\n"))")
        }
        await lab.stop()
      } catch {
        await lab.stop()
        throw error
      }
    }
  }

  private init(_ endpoint: PostgresEndpoint, _ count: Int, _ connections: Int, _ audience: EventAudience) {
    self.endpoint = endpoint
    var session = endpoint
    session.sessionSettings = Commits.sessionSettings
    clients = (0..<count).map { [session] _ in PostgresClient(session, connections: connections) }
    workers = clients.map { [failures] client in
      TakingCommits(
        Commits(
          client,
          Commits.Settings(
            connections: connections, now: { Self.now }, audience: { audience },
            onFailure: { failures.all.append($0) })))
    }
  }

  private func stop() async {
    for worker in workers { worker.stop() }
    for client in clients { await client.stop() }
  }

  // MARK: Requests

  nonisolated static func job(
    _ id: String, _ customer: String, _ transaction: String, _ kind: Job.Kind = .registration
  ) -> Job {
    Job(
      synchronizationId: SynchronizationId(id), publisherId: 7, customerId: CustomerId(customer),
      transactionId: TransactionId(transaction),
      kind: kind, registeredAt: now - 1000)
  }

  nonisolated static func key(_ original: String) -> PurchaseKey {
    PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: OriginalTransactionId(original))
  }

  /// A request with evidence of one transaction. Times are days from now.
  nonisolated static func request(
    _ id: String, _ customer: String, _ transaction: String, of original: String, _ product: ProductId = "monthly",
    _ kind: ProductKind = .autoRenewable, bought: Double = -1, expires: Double? = 30, revoked: Double? = nil,
    signed: Double = 0
  ) throws -> FinalizationRequest {
    let piece = try evidence(
      transaction, of: original, product, kind, bought: bought, expires: expires, revoked: revoked, signed: signed)
    return FinalizationRequest(
      job(id, customer, transaction), .evidence(key(original), [piece]), publisher: publisher)
  }

  /// What one renewal of a subscription proves.
  nonisolated static func update(
    _ transaction: String, of original: String, bought: Double = -1, expires: Double = 30, signed: Double = 0,
    token: String? = nil, insteadOf previous: String? = nil,
    _ source: PurchaseUpdate.Source = .notification(uuid: "n", reason: .renewed)
  ) throws -> PurchaseUpdate {
    let piece = try evidence(
      transaction, of: original, "monthly", .autoRenewable, bought: bought, expires: expires, signed: signed,
      token: token, insteadOf: previous)
    return PurchaseUpdate(key(original), [piece], from: source, publisher: publisher)
  }

  /// A transaction as Apple writes it. The signature is none: the ledger keeps what the verifier has accepted.
  nonisolated static func evidence(
    _ transaction: String, of original: String, _ product: ProductId, _ kind: ProductKind, bought: Double,
    expires: Double?, revoked: Double? = nil, signed: Double, token: String? = nil, insteadOf previous: String? = nil,
    line: String? = nil
  ) throws -> Evidence {
    func at(_ days: Double) -> Int64 { now + Int64(days * 86_400_000) }
    let payload = JSONWriter.object { writer in
      writer.member("appAccountToken", token)
      writer.member("appTransactionId", "704\(original)")
      writer.member("bundleId", "com.example")
      writer.member("environment", "Production")
      writer.member("expiresDate", kind == .autoRenewable ? expires.map(at) : nil)
      writer.member("inAppOwnershipType", "PURCHASED")
      writer.member("originalTransactionId", original)
      writer.member("previousOriginalTransactionId", previous)
      writer.member("productId", product)
      writer.member("purchaseDate", at(bought))
      writer.member("quantity", 1 as Int64)
      writer.member("revocationDate", revoked.map(at))
      writer.member("revocationReason", revoked.map { _ in 1 as Int64 })
      writer.member("signedDate", at(signed))
      writer.member("transactionId", transaction)
      writer.member("type", kind.rawValue)
      writer.member("webOrderLineItemId", line ?? "9\(transaction)")
    }
    let facts = try TransactionFacts(TransactionPayload(JSONText(payload)), payloadSHA256: SHA256.hash(payload))
    return Evidence(
      .transaction(facts), source: .serverAPI, signedHeader: Array("header".utf8), payload: payload, signature: [1, 2])
  }

  /// Finalizes requests at once, each at the worker with its index.
  func finalize(_ requests: [(worker: Int, request: FinalizationRequest)]) async throws -> [Finalized] {
    let tasks = requests.map { worker, request in
      let commits = workers[worker]
      return Task { @LoopActor in try await commits.finalize(request) }
    }
    var all: [Finalized] = []
    for task in tasks { all.append(try await task.value) }
    return all
  }

  // MARK: Rows

  /// What the check finds.
  func differences() async throws -> [String] {
    try await LedgerCheck.differences(in: clients[0], publishers: [Self.publisher], now: Self.now)
  }

  /// The first column of a statement's rows as text.
  func texts(_ sql: String) async throws -> [String] { try await clients[0].run(sql).map { $0.text(0) ?? "" } }

  /// The number that a statement returns.
  func number(_ sql: String) async throws -> Int64 { try await clients[0].run(sql)[0].int64(0) ?? -1 }
}

extension Finalized {
  var code: ResultCode? { synchronization.result?.code }
  var version: Int64 { synchronization.version }
}

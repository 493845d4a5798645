import DomainSupport
import EventLoop
import Ledger
import Observability
import TestSupport
import Testing

@testable import AppStore
@testable import Domain
@testable import Gateway

/// The looks at jobs that may give access while Apple is away.
@LoopActor
struct ProvisionTests {
  private struct Away: Error {}

  /// Redis, the ledger and the way out for events, by value.
  @LoopActor
  private final class Servers {
    var progress: [Result<(Synchronization.Status?, RetryCause?), Away>] = []
    var looks = 0
    /// The ends of the access that was asked for.
    var asked: [Int64] = []
    /// Whether the customer may get the purchase.
    var isFree = true
    var published: [EventId] = []
    var granted: [TransactionId] = []
  }

  private static let now: Int64 = 1_000_000
  private let servers = Servers()
  private let metrics = Metrics()
  private let looks: ProvisionLooks

  init() { looks = ProvisionLooks(metrics.counter("provisions", "", labels: ["outcome"])) }

  private var provision: Provision {
    Provision(
      now: { Self.now },
      progress: { [servers] _, _ in
        servers.looks += 1
        return try servers.progress.removeFirst().get()
      },
      grant: { [servers] _, _, until, _ in
        servers.asked.append(until)
        guard servers.isFree else { return nil }
        return Told([Event(id: "e", publisherId: 7, customerId: "42", topic: "t", time: 1, body: [])])
      }, publish: { [servers] in servers.published += $0.takeEvents().map(\.id) }, looks: looks,
      log: Log(level: .error))
  }

  private func counts(_ line: String) -> Bool { metrics.text().contains("provisions{outcome=\(line)\n") }

  /// Lets somebody look at a request's only purchase, and waits for the end of the looks.
  private func look(
    createdAt: Int64 = now, isAllowed: Bool = true, isAwaited: Bool = true, jobs: Int = 1, waits: Bool = true
  ) async throws {
    let purchase = LocalPurchase(
      key: TestPurchases.key(), transactionId: "1", productId: "monthly", transactionIds: ["1"])
    let evidence = LocalEvidence(
      kind: .signedTransaction(
        TransactionPayload(), piece: TestPurchases.evidence(.transaction(TestPurchases.transaction()))),
      bundleId: "com.example", environment: "Production", createdAt: createdAt, purchases: [purchase])
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([]),
      grantWhileAppleIsAway: isAllowed ? GrantWhileAppleIsAway(limit: .seconds(60)) : nil, webhooks: [])
    let job = Job(
      synchronizationId: "s", publisherId: 7, customerId: "42", transactionId: "1", registeredAt: Self.now)
    provision.begin(
      Array(repeating: (job: job, purchase: purchase), count: jobs),
      DoorRequest(
        publisher: publisher, door: Door("toy", asker: .customer), customerId: "42", evidence: evidence),
      isAwaited: isAwaited, onGrant: { [servers] in servers.granted.append($0.transactionId) })
    if waits { try await eventually("the looks are over") { looks.count == 0 } }
  }

  @Test func `a job that retries because Apple is away gives access, and its events are published`() async throws {
    servers.progress = [.success((.retrying, .network))]
    try await look()
    #expect(servers.asked == [Self.now + 60_000] && servers.published == ["e"] && servers.granted == ["1"])
    #expect(counts(#""granted"} 1"#))
  }

  @Test func `nobody gets access whom the ledger refuses, or whose job has ended`() async throws {
    servers.progress = [.success((.retrying, .network))]
    servers.isFree = false
    try await look()
    #expect(servers.asked.count == 1 && servers.published.isEmpty && servers.granted.isEmpty)
    #expect(!counts(#""granted"} 1"#))
  }

  @Test func `a job that has ended is looked at once`() async throws {
    servers.progress = [.success((.finalized, nil))]
    try await look()
    #expect(servers.looks == 1 && servers.asked.isEmpty)
  }

  @Test(arguments: [true, false]) func `a stop ends the pause before the next look`(isRefused: Bool) async throws {
    servers.progress = [isRefused ? .failure(Away()) : .success((.processing, nil))]
    try await look(waits: false)
    try await eventually("the first look is over") { servers.looks == 1 }
    await looks.stop(within: .seconds(120))
    #expect(servers.looks == 1 && servers.asked.isEmpty)
    // A request that comes now gets no look.
    try await look()
    looks.beside { [servers] in servers.looks += 1 }
    try await eventually("nothing runs") { looks.count == 0 }
    #expect(servers.looks == 1)
  }

  @Test func `nobody looks without the publisher's rule, without fresh evidence, or without a place`() async throws {
    try await look(isAllowed: false, waits: false)
    try await look(createdAt: Self.now - 3_600_001, waits: false)
    try await look(jobs: ProvisionLooks.most + 1)
    #expect(servers.looks == 0)
    #expect(counts("\"\(GatewayMetrics.notLookedAt)\"} 1"))
  }
}

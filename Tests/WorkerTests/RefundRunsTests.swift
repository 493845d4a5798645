import Domain
import EventLoop
import Testing

@testable import Ledger
@testable import Service
@testable import Worker

/// The looks at requests for refunds.
@LoopActor
struct RefundRunsTests {
  private final class LedgerByValue {
    var due: [DueRefundRequest] = []
    var limits: [Int] = []
    var written: [RefundRequest.State] = []
    var told: [RefundRequest.State] = []
    var isNewer = false
    var isAway = false
    var backlog = 0
  }

  private let bench: ChoreBench
  private let ledger = LedgerByValue()

  init() throws { bench = try ChoreBench() }

  private func request(
    _ state: RefundRequest.State = .open, consent: Consent? = nil, age: Int64 = 0, product: ProductId = "monthly"
  ) -> DueRefundRequest {
    let asked = bench.context.now() - age
    var request = RefundRequest(
      id: "r", purchase: PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "100"),
      transactionId: "100", bundleId: "com.other", productId: product, kind: .consumable, customerId: "42", reason: nil,
      requestedAt: asked)
    if state == .sending {
      request.send(ConsumptionAnswer(.delivered, isSampleProvided: false), by: .policy, consent, now: asked)
    }
    return DueRefundRequest(request: request, consent: consent, revision: 3)
  }

  private func runs() throws -> RefundRuns {
    RefundRuns(
      RefundRuns.Dependencies(
        context: bench.context,
        takeDue: { [ledger] _, limit, _ in
          ledger.limits.append(limit)
          if ledger.isAway { throw AppleByValue.Lost() }
          defer { ledger.due = [] }
          return ledger.due
        },
        backlog: { [ledger] _, most in
          if ledger.isAway { throw AppleByValue.Lost() }
          return (min(ledger.backlog, most), nil)
        }, purchase: { _ in nil },
        record: { [ledger] request, _ in
          if ledger.isAway { throw AppleByValue.Lost() }
          ledger.written.append(request.state)
          return !ledger.isNewer
        },
        tell: { [ledger] request, _, event in
          ledger.told.append(request.state)
          return ledger.isNewer ? nil : Told([event(request)])
        }, publish: { [bench] in bench.publish($0) }, verification: try bench.apple.verification(),
        places: { [bench] in bench.places($0) }, rows: bench.rows, isReady: { true }))
  }

  private func take(_ due: DueRefundRequest...) async throws {
    ledger.due = due
    let runs = try runs()
    await runs.take()
    await runs.stop(within: .seconds(120))
  }

  @Test func `requests without an answer are counted, and a ledger that is away changes nothing`() async throws {
    let runs = try runs()
    ledger.backlog = 3
    await runs.count()
    ledger.isAway = true
    ledger.backlog = 0
    await runs.count()
    #expect(bench.counts("countersign_refund_requests_pending 3"))
  }

  @Test func `without an answer of the policy, the publisher has to answer`() async throws {
    try await take(request())
    #expect(ledger.written == [.open])
    #expect(ledger.told.isEmpty && bench.published.isEmpty)
    #expect(ledger.limits == [32])
  }

  @Test func `a request that nobody answered in time ends`() async throws {
    try await take(request(age: RefundRequest.patience))
    #expect(ledger.written == [.expired])
    #expect(bench.counts(#"countersign_refund_requests_ended_total{outcome="expired"} 1"#))
  }

  @Test func `a withdrawn consent tells the publisher that it has to answer after all`() async throws {
    let withdrawn = Consent(isGiven: false, textVersion: "1", time: bench.context.now())
    try await take(request(.sending, consent: withdrawn))
    #expect(ledger.told == [.open])
    #expect(bench.published.count == 1)

    // Somebody has changed the request meanwhile: nothing is written, and nothing is told.
    ledger.isNewer = true
    try await take(request(.sending, consent: withdrawn))
    #expect(bench.published.count == 1)
  }

  @Test func `without an app nobody calls, and the answer waits`() async throws {
    let consent = Consent(isGiven: true, textVersion: "1", time: bench.context.now())
    try await take(request(.sending, consent: consent))
    #expect(ledger.written == [.sending])
    #expect(bench.apple.calls.isEmpty)
  }

  @Test func `without the publisher's file nobody decides`() async throws {
    bench.context.use(bench.context.settings, Publishers([]))
    try await take(request())
    #expect(ledger.written.isEmpty)
  }

  @Test func `what the ledger does not take is left to its lease`() async throws {
    ledger.isAway = true
    try await take(request())
    #expect(ledger.written.isEmpty)
    #expect(bench.counts.begun.isEmpty)
  }
}

import AMQP
import Coordination
import Domain
import EventLoop
import Service
import Testing

@testable import Worker

/// The end of a run: the commit, the event, the end of the claim, and the acknowledgement.
@LoopActor
struct JobRunCommitTests {
  private let bench: JobRunBench
  private let event = Event.id(of: JobRunBench.job)

  init() async throws { bench = try JobRunBench() }

  /// Runs a delivery and tells how far it has come when the ledger commits and when Redis ends the claim.
  private func steps(_ delivery: DeliveryByValue) async -> [String] {
    var steps: [String] = []
    func note(_ step: String) {
      steps.append("\(step): \(bench.broker.messages.count) published, \(delivery.fate == nil ? "kept" : "settled")")
    }
    bench.ledger.whileCommitting = { note("commit") }
    bench.leases.whileFinalizing = { note("finalize") }
    await JobRun.work(on: delivery, with: bench.dependencies)
    note("end")
    return steps
  }

  @Test func `a run commits, publishes its event, ends its claim, and only then acknowledges`() async {
    bench.attempts = [JobRunBench.attempt()]
    let delivery = JobRunBench.delivery()
    #expect(
      await steps(delivery) == [
        "commit: 0 published, kept", "finalize: 2 published, kept", "end: 2 published, settled",
      ]
    )
    #expect(delivery.fate == .acknowledged)
    #expect(bench.ledger.results == [JobRunBench.granted])
    #expect(bench.ledger.keys == [JobRunBench.key])
    #expect(bench.broker.queues == ["cs.notifier", "cs.notifier"])
    #expect(bench.broker.messages.first?.messageID == event.text)
    #expect(bench.broker.messages.first?.headers["version"] == 1)
    #expect(
      bench.leases.finalized == [
        FinalizedJob(
          job: JobRunBench.job, fence: 5, route: "app|Production",
          fresh: .init(
            CoveredPurchase(originalTransactionId: "99", environment: "Production"), for: .seconds(3)))
      ])
    #expect(bench.count("countersign_results_total", #"{result="PURCHASE_SYNCHRONIZED"}"#) == 1)
    // A renewal must not bring the lease back.
    bench.dependencies.heldLeases.renewAll()
    #expect(bench.leases.renewed.isEmpty)
  }

  @Test func `the record of a transaction that nobody knows goes soon`() async {
    bench.ledger.earlier = LedgerByValue.finalized(SynchronizationResult(.transactionIdNotFound))
    await bench.run(wasRedelivered: true)
    #expect(bench.leases.finalized.map(\.isKnown) == [false])
  }

  @Test func `the events of a commit are published in their order`() async {
    bench.attempts = [JobRunBench.attempt()]
    await bench.run()
    #expect(bench.broker.messages.map(\.type) == ["inappPurchaseSyncResult", "entitlementsChanged"])
    #expect(bench.ledger.confirmed.map(\.text) == bench.broker.messages.compactMap(\.messageID))
  }

  @Test func `an event that the broker does not confirm holds no job, and stays in the outbox`() async {
    bench.broker.holdsConfirms = true
    bench.attempts = [JobRunBench.attempt()]
    let delivery = await bench.run()
    #expect(delivery.fate == .acknowledged)
    #expect(bench.leases.finalized.count == 1)
    #expect(bench.ledger.confirmed.isEmpty)
    #expect(bench.dependencies.outlet.underWay == 2)
  }

  @Test func `a claim that Redis cannot end holds no job: the sweep finds the open entry`() async {
    bench.attempts = [JobRunBench.attempt()]
    bench.leases.finalizeFailure = LeasesByValue.unreachable
    let delivery = await bench.run()
    #expect(bench.broker.queues == ["cs.notifier", "cs.notifier"])
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `the result is that of the run that has finalized`() async {
    let refused = SynchronizationResult(.purchaseRevoked, originalTransactionId: "99", environment: "Production")
    bench.ledger.earlier = LedgerByValue.finalized(refused)
    bench.attempts = [JobRunBench.attempt()]
    let delivery = await bench.run()
    #expect(bench.asked == 1)
    #expect(bench.broker.messages.isEmpty)
    #expect(bench.count("countersign_results_total", #"{result="PURCHASE_REVOKED"}"#) == 1)
    #expect(bench.leases.finalized.count == 1)
    #expect(delivery.fate == .acknowledged)
  }

  // MARK: A job that comes again

  @Test func `a redelivered job whose synchronization is finalized makes no call, and tells the same event`() async {
    bench.ledger.earlier = LedgerByValue.finalized(JobRunBench.granted)
    bench.leases.answers = [.success(.taken(Lease(fence: 8, route: "app|Sandbox")))]
    let delivery = await bench.run(wasRedelivered: true)
    #expect(bench.asked == 0)
    #expect(bench.ledger.requests.isEmpty)
    #expect(bench.broker.messages.map(\.messageID) == [event.text])
    #expect(bench.broker.messages.first?.headers["version"] == 3)
    #expect(bench.leases.finalized == [FinalizedJob(job: JobRunBench.job, fence: 8, route: "app|Sandbox")])
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `only a redelivered job asks for an earlier result, and runs when there is none`() async {
    for wasRedelivered in [false, true] {
      bench.attempts = [JobRunBench.attempt()]
      await bench.run(wasRedelivered: wasRedelivered)
    }
    #expect(bench.ledger.searches == 1)
    #expect(bench.asked == 2)
    // A ledger that cannot say finalizes once all the same.
    bench.ledger.failure = LedgerByValue.refused
    bench.attempts = [JobRunBench.attempt()]
    await bench.run(wasRedelivered: true)
    #expect(bench.asked == 3)
    #expect(bench.ledger.results.count == 3)
  }

  // MARK: A result without effect

  @Test func `a run whose lease has ended by its own clock drops its result, and its job comes back`() async {
    bench.attempts = [JobRunBench.attempt()]
    bench.whileAsking = { $0.leaseEnd = .now }
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(bench.ledger.requests.isEmpty)
    #expect(bench.broker.queues == ["cs.jobs.delay.1000"])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.broker.messages.first?.headers["countersign-redelivered"] == nil)
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_stale_runs_total") == 1)
    #expect(bench.count("countersign_job_retries_total", #"{cause="busy"}"#) == 1)
  }

  @Test func `what the ledger refuses ends as an error of ours`() async {
    bench.ledger.refusals = [LedgerByValue.refused]
    bench.attempts = [JobRunBench.attempt()]
    let delivery = await bench.run()
    #expect(bench.ledger.keys == [JobRunBench.key, nil])
    #expect(bench.ledger.results == [SynchronizationResult(.internalError)])
    #expect(bench.broker.messages.map(\.messageID) == [event.text])
    #expect(bench.leases.finalized.count == 1)
    #expect(delivery.fate == .acknowledged)
  }

  @Test func `a synchronization that the ledger refuses altogether waits`() async {
    bench.ledger.refusals = [LedgerByValue.refused, LedgerByValue.refused]
    bench.attempts = [JobRunBench.attempt()]
    let delivery = await bench.run(attempt: 2, wasRedelivered: true)
    #expect(bench.ledger.requests.count == 2)
    #expect(bench.broker.queues == ["cs.jobs.delay.5000"])
    #expect(bench.broker.messages.first?.headers["countersign-attempt"] == 2)
    #expect(bench.leases.finalized.isEmpty)
    // The next run finds no lease in its way.
    #expect(
      bench.leases.released
        == [.init(isRetrying: false, isRun: true, sweepAfter: .seconds(125), route: "app|Production")])
    #expect(delivery.fate == .acknowledged)
    #expect(bench.count("countersign_job_retries_total", #"{cause="ledger_unavailable"}"#) == 1)
  }

  @Test func `a worker that stops before the commit hands its job back`() async {
    bench.ledger.refusals = [CancellationError()]
    bench.attempts = [JobRunBench.attempt()]
    let delivery = await bench.run()
    #expect(bench.ledger.requests.count == 1)
    #expect(
      bench.leases.released
        == [.init(isRetrying: false, isRun: false, sweepAfter: .seconds(120), route: "app|Production")])
    #expect(bench.broker.messages.isEmpty)
    #expect(delivery.fate == .requeued)
  }
}

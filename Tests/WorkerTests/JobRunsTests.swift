import EventLoop
import Observability
import TestSupport
import Testing

@testable import Service
@testable import Worker

/// The jobs in hand of a worker, from the delivery to the worker's stop.
@LoopActor
struct JobRunsTests {
  private let bench: JobRunBench
  private let running = RunningTasks()
  private let gate = Gate()
  private let stop = Stop()

  /// What a stop finds and does.
  @LoopActor
  private final class Stop {
    var isLedgerReady = true
    var hasGivenUp = false
  }

  init() async throws { bench = try JobRunBench() }

  private func runs(_ work: @escaping @LoopActor (any JobDelivery) async -> Void) -> JobRuns {
    JobRuns(
      JobRuns.Dependencies(
        redeliveries: Redeliveries(bench.dependencies.metrics.redeliveries, Log(level: .error)),
        log: Log(level: .error), work: work, isLedgerReady: { [stop] in stop.isLedgerReady },
        giveUpCommits: { [stop, gate] in
          stop.hasGivenUp = true
          gate.open()
        }), running)
  }

  @Test func `a delivery becomes a run that settles it`() async {
    bench.attempts = [JobRunBench.attempt()]
    let runs = runs { [bench] in await JobRun.work(on: $0, with: bench.dependencies) }
    let delivery = JobRunBench.delivery()
    runs.take(delivery)
    #expect(running.count == 1)
    await runs.stop(within: .patience)
    #expect(delivery.fate == .acknowledged)
    #expect(running.count == 0)
    #expect(bench.ledger.confirmed.count == 2)
  }

  @Test func `what the broker marks as delivered again is counted`() async {
    let runs = runs { $0.acknowledge() }
    runs.take(DeliveryByValue([], [:]))
    #expect(bench.count("countersign_redeliveries_total") == 0)
    runs.take(DeliveryByValue([], [:], isRedelivered: true))
    #expect(bench.count("countersign_redeliveries_total") == 1)
    await runs.stop(within: .patience)
  }

  @Test func `a delivery that comes while the consumer is being cancelled is run, too`() async {
    let runs = runs { $0.acknowledge() }
    #expect(runs.readiness.allSatisfy { $0.result().isReady })
    runs.close()
    #expect(runs.readiness.allSatisfy { !$0.result().isReady })
    let delivery = DeliveryByValue([], [:])
    runs.take(delivery)
    await runs.stop(within: .patience)
    #expect(delivery.fate == .acknowledged)
  }

  @Test(arguments: [true, false])
  func `a stop gives up the commits only without the ledger, and before it waits`(isLedgerReady: Bool) async throws {
    stop.isLedgerReady = isLedgerReady
    let runs = runs { [gate] in
      await gate.pass()
      // Who waits for it first cancels it.
      if Task.isCancelled { $0.acknowledge() } else { $0.requeue() }
    }
    let delivery = DeliveryByValue([], [:])
    runs.take(delivery)
    try await gate.holds(1)
    if isLedgerReady { gate.open() }
    await runs.stop(within: .patience)
    #expect(stop.hasGivenUp == !isLedgerReady)
    #expect(delivery.fate == .requeued)
  }

  @Test func `what takes longer than the grace is cancelled, and hands its job back`() async throws {
    let runs = runs {
      try? await EventLoop.sleep(for: .patience)
      if Task.isCancelled { $0.requeue() } else { $0.acknowledge() }
    }
    let delivery = DeliveryByValue([], [:])
    runs.take(delivery)
    await runs.stop(within: .zero)
    // On a busy machine the cancelled run may end after the stop.
    try await eventually("the run has ended") { running.count == 0 }
    #expect(delivery.fate == .requeued)
  }
}

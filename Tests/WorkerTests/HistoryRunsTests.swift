import Domain
import EventLoop
import TestSupport
import Testing

@testable import Ledger
@testable import Service
@testable import Worker

/// Which readings of Notification History a worker begins, and what follows them.
@LoopActor
struct HistoryRunsTests {
  @LoopActor
  private final class LedgerByValue {
    var states: [NotificationSources.State] = []
    var taken: [Environment] = []
    var foreign: Set<Environment> = []
    var givenBack: [Duration] = []
    var read: [HistoryPlan.Range] = []
    var end = HistoryReading.End.complete
    var prolonged: [Environment] = []
    /// Whether a page comes.
    var isOpen = true
    let gate = LoopSignal()
  }

  private let bench: ChoreBench
  private let ledger = LedgerByValue()

  init() throws { bench = try ChoreBench() }

  private func source(_ environment: Environment, readThrough: Int64? = nil) -> NotificationSource {
    NotificationSource(
      .init(publisherId: 7, bundleId: "com.example", environment: environment), readThrough: readThrough)
  }

  private func runs() -> HistoryRuns {
    HistoryRuns(
      HistoryRuns.Dependencies(
        context: bench.context, states: { [ledger] _ in ledger.states },
        take: { [ledger] source in
          guard !ledger.foreign.contains(source.key.environment) else { return false }
          ledger.taken.append(source.key.environment)
          return true
        }, prolong: { [ledger] in ledger.prolonged.append($0.key.environment) },
        giveBack: { [ledger] in ledger.givenBack.append($1) },
        read: { [ledger] reading in
          ledger.read.append(reading.range)
          while !ledger.isOpen { await ledger.gate.wait(atMost: .patience) }
          return ledger.end
        }, places: { [bench] in bench.places($0) }, isReady: { true }))
  }

  private func look() async {
    let runs = runs()
    await runs.look()
    await runs.stop(within: .seconds(120))
  }

  @Test func `the lease of a reading is prolonged until its end`() async throws {
    ledger.states = [NotificationSources.State(source: source("Production"), isFree: true)]
    ledger.isOpen = false
    let runs = runs()
    await runs.look()
    try await eventually("it reads") { !ledger.read.isEmpty }
    runs.prolongAll()
    #expect(ledger.prolonged == ["Production"])
    ledger.isOpen = true
    ledger.gate.notify()
    await runs.stop(within: .patience)
    runs.prolongAll()
    #expect(ledger.prolonged == ["Production"])
  }

  @Test func `an app that nobody has read is read in each environment`() async {
    ledger.states = ["Production", "Sandbox"].map { NotificationSources.State(source: source($0), isFree: true) }
    await look()
    #expect(ledger.taken == ["Production", "Sandbox"])
    #expect(ledger.read.count == 2)
    #expect(ledger.givenBack.isEmpty)
    #expect(bench.counts(#"countersign_history_readings_total{outcome="complete"} 2"#))
  }

  @Test func `what another worker has, or has taken first, is not read`() async {
    ledger.states = [
      NotificationSources.State(source: source("Production"), isFree: false),
      NotificationSources.State(source: source("Sandbox"), isFree: true),
    ]
    ledger.foreign = ["Sandbox"]
    await look()
    #expect(ledger.read.isEmpty)
  }

  @Test(arguments: [
    (HistoryReading.End.stopped, Duration.zero), (.failed(.network), .seconds(3600)), (.refused, .seconds(3600)),
    (.heldBack, .seconds(3600)),
  ])
  func `a reading that did not end gives its lease back`(end: HistoryReading.End, pause: Duration) async {
    ledger.states = [NotificationSources.State(source: source("Production"), isFree: true)]
    ledger.end = end
    await look()
    #expect(ledger.givenBack == [pause])
  }

  @Test func `the oldest reading comes first, and one that nobody ever finished before all`() {
    let now = AppleByValue.now
    let states = [(now - 90_000_000, "a"), (now - 95_000_000, "b"), (nil, "c"), (now, "d")].map { time, name in
      (state: NotificationSources.State(source: source("Production", readThrough: time), isFree: true), known: name)
    }
    #expect(HistoryTaking.due(states, HistoryPlan(interval: 3_600_000), now: now).map(\.known) == ["c", "b", "a"])
    let due = states.map { (source: $0.state.source, known: $0.known) }
    #expect(HistoryTaking.oldest(due, 2).map(\.known) == ["c", "b"])
  }
}

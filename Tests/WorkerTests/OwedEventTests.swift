import Domain
import EventLoop
import Testing

@testable import Ledger
@testable import Service
@testable import Worker

/// The retries of events that subscribers miss.
@LoopActor
struct OwedEventTests {
  private final class LedgerByValue: OwedEventLedger {
    var due: [[OwedEvents.Owed]] = []
    var settled: [EventId] = []
    var waiting: [EventId] = []
    var lost: [[String: Int64]] = []
    var debts: [OwedEvents.Debt] = []

    func take(for subscriber: String, limit: Int) async throws -> [OwedEvents.Owed] {
      due.isEmpty ? [] : due.removeFirst()
    }
    func settle(_ eventIds: [EventId], of subscriber: String) async throws { settled += eventIds }
    func putOff(_ events: [OwedEvents.PutOff], of subscriber: String) async throws {
      waiting += events.map(\.id)
    }
    func giveUp(after age: Duration, limit: Int) async throws -> [String: Int64] {
      lost.isEmpty ? [:] : lost.removeFirst()
    }
    func debts(of subscribers: [String]) async throws -> [OwedEvents.Debt] { debts }
  }

  private final class Subscriber: OwedSubscriber {
    let name = "billing"
    var retries = 2
    var failures: [EventId: SubscriberOutlet.Failure] = [:]
    var progress: [Int] = []

    func publish(_ event: Event, isOwed: Bool) async throws(SubscriberOutlet.Failure) {
      if let failure = failures[event.id] { throw failure }
    }
    func endRetry(confirmed: Int) { progress.append(confirmed) }
  }

  private nonisolated static let full = SubscriberOutlet.Failure(cause: "full", pause: .seconds(5))
  private nonisolated static let unwanted = SubscriberOutlet.Failure(
    cause: "no queue", pause: .seconds(5), isUnwanted: true)

  private let bench: ChoreBench
  private let ledger = LedgerByValue()
  private let subscriber = Subscriber()

  init() throws { bench = try ChoreBench() }

  private func owed(_ id: EventId, tries: Int = 0) -> OwedEvents.Owed {
    OwedEvents.Owed(event: ChoreBench.event(id), tries: tries)
  }

  private func runs() -> OwedEventRuns {
    OwedEventRuns(
      OwedEventRuns.Dependencies(
        context: bench.context, ledger: ledger, subscribers: [subscriber], isReady: { true }))
  }

  private func look() async {
    let runs = runs()
    runs.look()
    // A stop would end the rounds.
    for _ in 0..<10_000 where runs.runs.count > 0 { await Task.yield() }
    await runs.stop(within: .seconds(120))
  }

  @Test func `what the broker takes is settled, round after round`() async {
    ledger.due = [[owed("a"), owed("b")], [owed("c")]]
    await look()
    #expect(ledger.settled == ["a", "b", "c"])
    #expect(ledger.waiting.isEmpty)
    #expect(subscriber.progress == [2, 1])
  }

  @Test func `what a subscriber does not take waits`() async {
    ledger.due = [[owed("a"), owed("b")], []]
    subscriber.failures["b"] = Self.full
    await look()
    #expect(ledger.settled == ["a"] && ledger.waiting == ["b"])
    #expect(subscriber.progress == [1])
  }

  @Test func `a subscriber that takes nothing now is not tried`() async {
    subscriber.retries = 0
    ledger.due = [[owed("a")]]
    await look()
    #expect(ledger.settled.isEmpty && subscriber.progress.isEmpty)
  }

  @Test func `what is too old is given up, and what is owed is counted`() async {
    ledger.lost = [["billing": 1000], ["billing": 2]]
    ledger.debts = [
      OwedEvents.Debt(subscriber: "billing", count: 4, oldest: bench.context.now()),
      OwedEvents.Debt(subscriber: "gone", count: 1, oldest: nil),
    ]
    let runs = runs()
    await runs.count()
    #expect(bench.counts(#"countersign_subscriber_events_given_up_total{subscriber="billing"} 1002"#))
    #expect(bench.counts(#"countersign_subscriber_owed_events{subscriber="billing"} 4"#))
    #expect(bench.counts(#"countersign_subscriber_owed_events{subscriber="gone"} 1"#))
    await runs.stop(within: .zero)
  }

  @Test func `an event that nobody wants is given up only after many tries`() {
    let round = OwedRound([
      (owed("a"), nil), (owed("b"), Self.unwanted), (owed("c", tries: 8), Self.unwanted), (owed("d"), Self.full),
    ])
    #expect(round.settled == ["a", "c"])
    #expect(round.putOff.map(\.id) == ["b", "d"])
    // The broker has answered: a queue may have the next event.
    #expect(round.progress == 3)
    #expect(round.putOff.map(\.pause) == [SubscriberPace.pause(afterTries: 1), SubscriberPace.pause(afterTries: 1)])
  }
}

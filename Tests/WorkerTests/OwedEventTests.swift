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
    var progress: [Int] = []

    func endRetry(confirmed: Int) { progress.append(confirmed) }
  }

  private nonisolated static let full = SubscriberOutlet.Failure(cause: "full", pause: .seconds(5))
  private nonisolated static let unwanted = SubscriberOutlet.Failure(
    cause: "no queue", pause: .seconds(5), isUnwanted: true)

  private let bench: ChoreBench
  private let ledger = LedgerByValue()
  private let subscriber = Subscriber()
  private var failures: [EventId: SubscriberOutlet.Failure] = [:]
  private var answers: [EventId: EventTelling] = [:]

  init() throws { bench = try ChoreBench() }

  private func owed(_ id: EventId, tries: Int = 0) -> OwedEvents.Owed {
    OwedEvents.Owed(event: ChoreBench.event(id), tries: tries)
  }

  private func runs() -> OwedEventRuns {
    OwedEventRuns(
      OwedEventRuns.Dependencies(
        context: bench.context, ledger: ledger, subscribers: [subscriber],
        publish: { [failures, answers] event, _ throws(SubscriberOutlet.Failure) in
          if let failure = failures[event.id] { throw failure }
          return answers[event.id] ?? .told
        }, isReady: { true }))
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

  @Test mutating func `what a subscriber does not take waits`() async {
    ledger.due = [[owed("a"), owed("b")], []]
    failures["b"] = Self.full
    await look()
    #expect(ledger.settled == ["a"] && ledger.waiting == ["b"])
    #expect(subscriber.progress == [1])
  }

  @Test mutating func `what nobody is told is settled, and says nothing about the subscriber`() async {
    answers = ["a": .kept, "b": .waits(.seconds(3)), "c": .kept]
    ledger.due = [[owed("a"), owed("b")], [owed("c")]]
    await look()
    #expect(ledger.settled == ["a", "c"] && ledger.waiting == ["b"])
    // A pause for a subscriber that refuses nothing would keep the other publishers' events from it.
    #expect(subscriber.progress.isEmpty)
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
      (owed("a"), .success(.told)), (owed("b"), .failure(Self.unwanted)),
      (owed("c", tries: 8), .failure(Self.unwanted)), (owed("d"), .failure(Self.full)),
      (owed("e"), .success(.kept)), (owed("f"), .success(.waits(.seconds(7)))),
    ])
    #expect(round.settled == ["a", "c", "e"])
    #expect(round.putOff.map(\.id) == ["b", "d", "f"])
    // The broker has answered: a queue may have the next event.
    #expect(round.progress == 3 && round.asked == 4)
    let pause = SubscriberPace.pause(afterTries: 1)
    #expect(round.putOff.map(\.pause) == [pause, pause, .seconds(7)])
    #expect(round.missed == 2 && round.cause == "no queue")
  }
}

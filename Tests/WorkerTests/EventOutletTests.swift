import AMQP
import Domain
import EventLoop
import Ledger
import Observability
import Testing

@testable import Service
@testable import Worker

/// The events that a worker publishes after a commit.
@LoopActor
struct EventOutletTests {
  private let bench: JobRunBench
  private var outlet: EventOutlet { bench.dependencies.outlet }
  /// A moment before all confirms: they are recent however late a test looks.
  private let moment = ContinuousClock.now

  init() async throws { bench = try JobRunBench() }

  private func events(_ count: Int) -> [Event] {
    (0..<count).map { number in
      Event(
        id: "evt_\(number)", publisherId: 1, customerId: "7", topic: "t", time: 1, body: [])
    }
  }

  /// What becomes of events, while a test goes on.
  @LoopActor
  private final class Mode {
    var answer = EventTelling.told
    var failure: SubscriberOutlet.Failure?
    var kept: [String] = []
    var retried: [String] = []
  }

  @Test func `a confirmed event leaves the outbox, and a refused one stays`() async throws {
    bench.broker.holdsConfirms = true
    outlet.publish(Told(events(1)))
    #expect(bench.ledger.confirmed.isEmpty)
    bench.broker.confirmAll(.failure(BrokerByValue.noConfirm))
    #expect(outlet.underWay == 0)
    #expect(bench.ledger.confirmed.isEmpty)
    #expect(outlet.lost.recent.take(at: moment).isEmpty)
    #expect(bench.count("countersign_events_published_total") == 0)

    outlet.publish(Told(events(2)))
    bench.broker.confirmAll()
    #expect(outlet.underWay == 0)
    #expect(bench.ledger.confirmed == ["evt_0", "evt_1"])
    #expect(outlet.lost.recent.take(at: moment).map(\.id) == ["evt_0", "evt_1"])
    #expect(bench.count("countersign_events_published_total") == 2)
  }

  @Test func `nobody is told the events of a publisher in shadow mode`() async throws {
    var confirmed = 0
    let mode = Mode()
    mode.answer = .kept
    let outlet = EventOutlet(
      bench.broker, queue: { _ in "own" }, EventOutlet.Subscribers(publish: { _ in preconditionFailure() }),
      Log(level: .error), settle: { [ledger = bench.ledger] in ledger.confirm([$0]) }, onReduced: { _ in },
      telling: { [mode] _ in mode.answer }, onKept: { [mode] in mode.kept.append($0.id.text) })
    outlet.publish(Told(events(2))) { confirmed += 1 }
    outlet.publishLate(Told(events(1)))
    #expect(mode.kept == ["evt_0", "evt_1", "evt_0"])
    #expect(confirmed == 1)
    #expect(bench.broker.messages.isEmpty && outlet.underWay == 0)
    // Only a late one may have a row in the outbox.
    #expect(bench.ledger.confirmed == ["evt_0"])

    // Another role may have read the file already: a late one stays, and nobody knows whether the other has a row.
    mode.answer = .waits(.seconds(1))
    outlet.publish(Told(events(2))) { confirmed += 1 }
    outlet.publishLate(Told(events(1)))
    #expect(mode.kept == ["evt_0", "evt_1", "evt_0", "evt_0", "evt_1"])
    #expect(confirmed == 2 && bench.ledger.confirmed == ["evt_0"])
    #expect(bench.broker.messages.isEmpty && outlet.underWay == 0)
  }

  @Test func `an owed event goes to its subscriber, unless nobody is told it`() async throws {
    let mode = Mode()
    let outlet = EventOutlet(
      bench.broker, queue: { _ in "own" },
      EventOutlet.Subscribers(retry: { [mode] event, name throws(SubscriberOutlet.Failure) in
        mode.retried.append("\(event.id) \(name)")
        if let failure = mode.failure { throw failure }
      }),
      Log(level: .error), settle: { _ in }, onReduced: { _ in },
      telling: { [mode] _ in mode.answer }, onKept: { [mode] in mode.kept.append($0.id.text) })
    let event = events(1)[0]
    #expect(try await outlet.publishOwed(event, to: "billing") == .told)
    #expect(mode.retried == ["evt_0 billing"])
    mode.failure = SubscriberOutlet.Failure(cause: "full", pause: .seconds(5))
    await #expect(throws: SubscriberOutlet.Failure.self) { _ = try await outlet.publishOwed(event, to: "billing") }
    #expect(mode.retried.count == 2 && mode.kept.isEmpty)
    mode.answer = .waits(.seconds(1))
    #expect(try await outlet.publishOwed(event, to: "billing") == .waits(.seconds(1)))
    #expect(mode.kept.isEmpty)
    mode.answer = .kept
    #expect(try await outlet.publishOwed(event, to: "billing") == .kept)
    #expect(mode.retried.count == 2 && mode.kept == ["evt_0"])
    // The outlet takes nothing out of the outbox for it, and the fleet's own queue has it already.
    #expect(bench.broker.messages.isEmpty)
  }

  @Test func `an event that tells less than it should is counted, and published`() async throws {
    let reduced = Event(
      id: "evt_r", publisherId: 1, customerId: "7", topic: EventTopic.purchaseUpdated, time: 1, body: [],
      isReduced: true)
    outlet.publish(Told([reduced] + events(1)))
    #expect(outlet.underWay == 0)
    #expect(bench.ledger.confirmed == ["evt_r", "evt_0"])
    #expect(bench.count(#"countersign_reduced_events_total{topic="purchaseUpdated"}"#) == 1)
  }

  @Test func `an event that a subscriber misses is owed, and not confirmed`() async throws {
    let missed = OwedEvents.Missed(eventId: "evt_0", subscriber: "billing", cause: "full", pause: .seconds(5))
    var owed: [OwedEvents.Missed] = []
    let outlet = EventOutlet(
      bench.broker, queue: { _ in "own" },
      EventOutlet.Subscribers(
        publish: { EventCopies(missed: $0.id == "evt_0" ? [missed] : []) }, owe: { owed += $0 }),
      Log(level: .error), settle: { [ledger = bench.ledger] in ledger.confirm([$0]) },
      onReduced: { _ in })
    outlet.publish(Told(events(2)))
    #expect(outlet.underWay == 0)
    #expect(bench.broker.queues == ["own", "own"])
    #expect(owed == [missed])
    #expect(bench.ledger.confirmed == ["evt_1"])

    // If the own queue does not take it, the outbox has it, and nothing is owed.
    bench.broker.holdsConfirms = true
    outlet.publish(Told(events(1)))
    bench.broker.confirmAll(.failure(BrokerByValue.noConfirm))
    #expect(outlet.underWay == 0)
    #expect(owed == [missed])

    bench.broker.holdsConfirms = false
    let before = bench.broker.messages.count
    for event in events(2) { await bench.dependencies.outlet.lost.tellAgain(event) }
    #expect(bench.broker.messages.count == before + 2)
    #expect(bench.ledger.confirmed == ["evt_1"])
  }

  @Test func `a late event goes to subscribers only when the own queue has it`() async throws {
    var copied: [String] = []
    let outlet = EventOutlet(
      bench.broker, queue: { _ in "own" },
      EventOutlet.Subscribers(
        publish: {
          copied.append($0.id.text)
          return EventCopies()
        }),
      Log(level: .error), settle: { [ledger = bench.ledger] in ledger.confirm([$0]) },
      onReduced: { _ in })
    bench.broker.holdsConfirms = true
    outlet.publishLate(Told(events(1)))
    #expect(copied.isEmpty)
    bench.broker.confirmAll(.failure(BrokerByValue.noConfirm))
    #expect(outlet.underWay == 0)
    #expect(copied.isEmpty)
    outlet.publishLate(Told(events(1)))
    bench.broker.confirmAll()
    #expect(outlet.underWay == 0)
    #expect(copied == ["evt_0"])
    #expect(bench.ledger.confirmed == ["evt_0"])
  }

  @Test func `the age of a synchronization ends with the confirm of its own event`() async throws {
    bench.broker.holdsConfirms = true
    var confirmed = 0
    outlet.publish(Told(events(3))) { confirmed += 1 }
    #expect(confirmed == 0)
    bench.broker.confirmAll()
    #expect(outlet.underWay == 0)
    #expect(confirmed == 1)
  }

  @Test func `a broker that confirms nothing does not fill the memory`() async throws {
    bench.broker.holdsConfirms = true
    outlet.publish(Told(events(EventOutlet.most - 1)))
    outlet.publish(Told(events(3)))
    #expect(bench.broker.messages.count == EventOutlet.most)
    bench.broker.confirmAll()
    #expect(outlet.underWay == 0)
    outlet.publish(Told(events(1)))
    #expect(bench.broker.messages.count == EventOutlet.most + 1)
    bench.broker.confirmAll()
    #expect(outlet.underWay == 0)
  }

  @Test func `events that a lost connection may have taken along are told again, once`() async throws {
    outlet.publish(Told(events(2)))
    #expect(outlet.underWay == 0)
    let before = bench.broker.messages.count
    let lost = outlet.lost
    lost.note(.connected)
    lost.note(.blocked(true))
    #expect(bench.broker.messages.count == before)
    lost.note(.lost(BrokerByValue.noConfirm, retryIn: .zero), at: moment)
    await lost.stop(within: .seconds(120))
    #expect(bench.broker.messages.count == before + 2)
  }
}

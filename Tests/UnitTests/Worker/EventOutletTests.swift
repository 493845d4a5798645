import Domain
import EventLoop
import Testing

@testable import Worker

/// The events that a worker publishes after a commit.
@LoopActor
struct EventOutletTests {
  private let bench: JobRunBench
  private var outlet: EventOutlet { bench.dependencies.outlet }

  init() async throws { bench = try JobRunBench() }

  private func events(_ count: Int) -> [Event] {
    (0..<count).map { number in
      Event(
        id: "evt_\(number)", publisherId: 1, customerId: "7", topic: "t", time: 1, body: [])
    }
  }

  /// Gives the tasks that wait for a confirm their turn.
  private func settle() async throws {
    for _ in 0..<10_000 where outlet.underWay > 0 { await Task.yield() }
    try #require(outlet.underWay == 0)
  }

  @Test func `a confirmed event leaves the outbox, and a refused one stays`() async throws {
    bench.broker.holdsConfirms = true
    outlet.publish(events(1))
    #expect(bench.ledger.confirmed.isEmpty)
    bench.broker.confirmAll(.failure(BrokerByValue.noConfirm))
    try await settle()
    #expect(bench.ledger.confirmed.isEmpty)
    #expect(bench.dependencies.recentEvents.take().isEmpty)
    #expect(bench.count("countersign_events_published_total") == 0)

    outlet.publish(events(2))
    bench.broker.confirmAll()
    try await settle()
    #expect(bench.ledger.confirmed == ["evt_0", "evt_1"])
    #expect(bench.dependencies.recentEvents.take().map(\.id) == ["evt_0", "evt_1"])
    #expect(bench.count("countersign_events_published_total") == 2)
  }

  @Test func `the age of a synchronization ends with the confirm of its own event`() async throws {
    bench.broker.holdsConfirms = true
    var confirmed = 0
    outlet.publish(events(3)) { confirmed += 1 }
    #expect(confirmed == 0)
    bench.broker.confirmAll()
    try await settle()
    #expect(confirmed == 1)
  }

  @Test func `a broker that confirms nothing does not fill the memory`() async throws {
    bench.broker.holdsConfirms = true
    outlet.publish(events(EventOutlet.most - 1))
    outlet.publish(events(3))
    #expect(bench.broker.messages.count == EventOutlet.most)
    bench.broker.confirmAll()
    try await settle()
    outlet.publish(events(1))
    #expect(bench.broker.messages.count == EventOutlet.most + 1)
    bench.broker.confirmAll()
    try await settle()
  }
}

import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// What becomes of an event whose notifier knew an old list of endpoints.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct EndpointLookTests {
  private typealias Bench = DeliveryLedgerTests.Bench

  private func create(
    _ id: EndpointId, _ bench: Bench, topics: [EventTopic] = ["t"], environment: WebhookEnvironment? = nil,
    publisher: PublisherId = 1
  ) async throws {
    let endpoint = WebhookEndpoint(
      id: id, url: "https://example.com", topics: topics, secrets: [], environment: environment, source: .api)
    _ = try await bench.endpoints.create(publisher, endpoint)
  }

  private func look(_ bench: Bench) async throws -> EndpointLook {
    let snapshot = try #require(try await bench.endpoints.endpoints(1))
    return EndpointLook(
      snapshot.endpoints.filter { $0.topics == ["t"] }.map(\.id), revision: Int64(snapshot.version))
  }

  /// Notes an attempt at an endpoint of a look.
  private func end(
    _ delivery: Delivery, at endpoint: EndpointId, _ look: EndpointLook, _ bench: Bench
  ) async throws -> [EndpointId] {
    let attempt = DeliveryAttempt(
      eventId: delivery.eventId, endpointId: endpoint, topic: "t", number: 1, time: unixMilliseconds(),
      result: .delivered)
    return try await bench.recorder.record(
      DeliveryChange(delivery, at: endpoint, look: look, .attempted(attempt, isConfigured: false))
    ).missed
  }

  @Test func `an endpoint that came after the look gets the event too`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let empty = try await look(bench)
      try await create("ep_a", bench)
      try await create("ep_other_topic", bench, topics: ["u", "x"])
      try await create("ep_other_publisher", bench, publisher: 2)
      let old = try await look(bench)
      let first = try await bench.event("evt_1")
      #expect(try await bench.recorder.record(DeliveryChange(first, look: empty, .seen)).missed == ["ep_a"])
      #expect(try await bench.rows() == ["evt_1/ep_a//1"])
      #expect(try await bench.deliveries.overdue(by: .zero, limit: 9).deliveries.map(\.endpointId) == ["ep_a"])

      try await create("ep_b", bench, topics: ["u", "t"])
      let second = try await bench.event("evt_2")
      #expect(try await end(second, at: "ep_a", old, bench) == ["ep_b"])
      #expect(try await bench.rows() == ["evt_1/ep_a//1", "evt_2/ep_b//1"])
      // The event was looked at. Whoever looks later changes nothing.
      #expect(try await end(second, at: "ep_a", old, bench) == [])
      #expect(try await bench.rows() == ["evt_1/ep_a//1", "evt_2/ep_b//1"])
    }
  }

  @Test func `an endpoint for the other environment was not missed`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      try await create("ep_both", bench)
      try await create("ep_production", bench, environment: .production)
      try await create("ep_sandbox", bench, environment: .sandbox)
      let first = try await bench.event("evt_1")
      let old = EndpointLook([], revision: 0, environment: .sandbox)
      let missed = try await bench.recorder.record(DeliveryChange(first, look: old, .seen)).missed
      #expect(missed.sorted() == ["ep_both", "ep_sandbox"])
      // An event about no purchase goes to all of them.
      let second = try await bench.event("evt_2")
      let unknown = EndpointLook([], revision: 0)
      #expect(try await bench.recorder.record(DeliveryChange(second, look: unknown, .seen)).missed.count == 3)
    }
  }

  @Test func `a replaced endpoint leaves the event to the new one`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      try await create("ep_old", bench)
      let old = try await look(bench)
      _ = try await bench.endpoints.delete(1, "ep_old")
      try await create("ep_new", bench)
      let delivery = try await bench.event()
      let dropped = try await bench.recorder.record(DeliveryChange(delivery, at: "ep_old", look: old, .dropped))
      #expect(dropped.missed == ["ep_new"])
      #expect(try await bench.rows() == ["evt_1/ep_new//1"])
    }
  }

  @Test func `while the revision holds, the ledger adds nothing, and an unknown one is compared`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      try await create("ep_a", bench)
      let present = try await look(bench)
      let first = try await bench.event("evt_1")
      // The list is not compared: the notifier has chosen it by this revision.
      let chosen = EndpointLook([], revision: present.revision)
      #expect(try await bench.recorder.record(DeliveryChange(first, look: chosen, .seen)).missed == [])
      let second = try await bench.event("evt_2")
      let unknown = EndpointLook(["main"], revision: nil)
      #expect(try await end(second, at: "main", unknown, bench) == ["ep_a"])
      #expect(try await bench.rows() == ["evt_2/ep_a//1"])
    }
  }
}

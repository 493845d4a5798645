import Domain
import EventLoop
import Fleets
import Ledger
import Messaging
import Postgres
import ServerSupport
import Testing

/// Deliveries that lack a row: the worker had an older file of the publisher, or a notifier dropped them.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct OwedDeliveryTests {
  private typealias Bench = DeliveryLedgerTests.Bench

  /// Writes an event as a worker does that knows no endpoints of the publisher.
  private func event(_ bench: Bench) async throws -> Delivery {
    let event = DeliveryLedgerTests.event("evt_1")
    _ = try await bench.ledger.run(Event.tell([event], audience: []) + [Event.confirmed([event.id])])
    #expect(try await bench.rows() == [])
    return try Delivery(event, endpointId: nil)
  }

  @Test func `an endpoint that only the notifier's file has gets the event and its retries`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let first = try await event(bench)
      #expect(try await bench.state(first) == .open)
      // From here on, the delivery is as safe as any other.
      #expect(try await bench.rows() == ["evt_1/main//1"])
      try await bench.end(first, among: ["main"], .failed, nextAt: 77)
      #expect(try await bench.rows() == ["evt_1/main//2"])
      #expect(try await bench.state(first) == .made(.failed, nextAt: 77))
      var second = try Delivery(DeliveryLedgerTests.event("evt_1"), endpointId: "main")
      second.attempt = 2
      #expect(try await bench.state(second) == .open)
      try await bench.end(second, .delivered)
      #expect(try await bench.rows() == [])
      // A copy of either message leads to nothing more.
      #expect(try await bench.state(first) == .superseded)
      #expect(try await bench.state(second) == .made(.delivered, nextAt: nil))
      #expect(try await bench.rows() == [])
    }
  }

  @Test func `a dropped delivery that somebody moves back is made`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let whole = try await bench.event()
      _ = try await bench.recorder.record(DeliveryChange(whole, .dropped))
      #expect(try await bench.rows() == [])
      #expect(try await bench.state(whole) == .open)
      try await bench.end(whole, among: ["main"], .failed, nextAt: 77)
      var second = try Delivery(DeliveryLedgerTests.event("evt_1"), endpointId: "main")
      second.attempt = 2
      _ = try await bench.recorder.record(DeliveryChange(second, at: "main", .dropped))
      #expect(try await bench.rows() == [])
      #expect(try await bench.state(second) == .open)
      #expect(try await bench.rows() == ["evt_1/main//2"])
    }
  }

  @Test func `a delivery of another round makes the first one's messages old`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let first = try await event(bench)
      let resent = try #require(
        try await bench.deliveries.resend(publisher: 1, event: "evt_1", to: "main", round: "r"))
      try await bench.end(resent, .delivered)
      #expect(try await bench.state(first) == .superseded)
      #expect(try await bench.rows() == [])
    }
  }
}

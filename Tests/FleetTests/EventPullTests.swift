import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Events by pull, through gateways.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(60)))
@LoopActor
struct EventPullTests {
  private struct Answer: Decodable {
    struct Event: Decodable {
      struct Envelope: Decodable {
        struct Data: Decodable { let synchronizationId: String? }
        let broadcasterId: PublisherId
        let topic: String
        let data: Data
      }
      let id: String
      let type: String
      let source: String
      let data: Envelope
    }
    let events: [Event]
    let hasMore: Bool
    let next: String
  }

  private func answer(
    _ fleet: RunningFleet, _ query: String, publisher: PublisherId = RunningFleet.publisher,
    gateway: String = "gateway-1"
  ) async throws -> HTTPClientResponse {
    try await fleet.send("GET", fleet.url("/events\(query)", gateway: gateway), fleet.headers(publisher))
  }

  private func read(
    _ fleet: RunningFleet, _ query: String, publisher: PublisherId = RunningFleet.publisher,
    gateway: String = "gateway-1"
  ) async throws -> Answer {
    let answer = try await answer(fleet, query, publisher: publisher, gateway: gateway)
    #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    return try JSONDecoder().decode(Answer.self, from: Data(answer.body))
  }

  @Test func `a request waits for the next event, and its cursor works at every gateway`() async throws {
    try await RunningFleet.with(["gateway-1", "gateway-2", "worker-1"]) { fleet async throws in
      let start = try await read(fleet, "")
      #expect(start.events.isEmpty && !start.hasMore)
      let topics = "&topic=inappPurchaseSyncResult,webhookEndpointDisabled"
      let waiting = Task { @LoopActor in
        try await read(fleet, "?after=\(start.next)&wait=25\(topics)", gateway: "gateway-2")
      }
      let metric = "countersign_event_reads_waiting"
      try await eventually("a request waits") { try await fleet.metric("gateway-2", metric) == 1 }
      #expect(try await fleet.register("1000000077", id: "pulled").status == 202)
      let pulled = try await waiting.value
      #expect(pulled.events.map(\.data.data.synchronizationId) == ["pulled"])
      #expect(pulled.events.map(\.type) == ["inappPurchaseSyncResult"])
      #expect(pulled.events.map(\.data.broadcasterId) == [RunningFleet.publisher])
      #expect(pulled.events.map(\.source) == ["/countersign/\(RunningFleet.publisher)"])
      try await eventually("nobody waits") { try await fleet.metric("gateway-2", metric) == 0 }
      #expect(try await fleet.metric("gateway-2", "countersign_events_pulled_total") == 1)

      // Subscribers get the same event, under the same id.
      _ = try await fleet.finished(["pulled"])
      let again = try await read(fleet, "?after=\(start.next)")
      #expect(Set(again.events.map(\.type)).isSuperset(of: ["inappPurchaseSyncResult", "entitlementsChanged"]))
      #expect(again.events.map(\.id).contains(pulled.events[0].id))
      #expect(try await read(fleet, "?after=\(again.next)&wait=1").events.isEmpty)
    }
  }

  @Test func `a wait ends when its gateway stops`() async throws {
    try await RunningFleet.with(["gateway-1"]) { fleet async throws in
      let waiting = Task { @LoopActor in try await read(fleet, "?wait=25") }
      try await eventually("a request waits") {
        try await fleet.metric("gateway-1", "countersign_event_reads_waiting") == 1
      }
      fleet.roles["gateway-1"]?.process.send(SIGTERM)
      #expect(try await waiting.value.events.isEmpty)
    }
  }

  @Test func `cursors that cannot be used`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet async throws in
      #expect(try await fleet.register("1000000078", id: "first").status == 202)
      _ = try await fleet.finished(["first"])
      // Other databases' transactions may hold it back for a moment.
      let mine = try await read(fleet, "?wait=25")
      #expect(!mine.events.isEmpty)
      let foreign = try await answer(fleet, "?after=\(mine.next)", publisher: RunningFleet.openPublisher)
      #expect(foreign.status == 410 && String(decoding: foreign.body, as: UTF8.self).contains("EVT0002"))
      #expect(try await read(fleet, "", publisher: RunningFleet.openPublisher).events.isEmpty)
      for bad in ["x", mine.next + "0", String(repeating: "f", count: 50), "%00", String(repeating: "0", count: 4000)] {
        let refused = try await answer(fleet, "?after=\(bad)")
        #expect(refused.status == 400, "\(bad.prefix(60))")
      }
      let start = "01" + mine.next.dropFirst(2).prefix(16) + String(repeating: "0", count: 32)
      #expect(try await read(fleet, "?after=\(start)").events.count >= mine.events.count)
      try await fleet.execute("INSERT INTO event_floors VALUES (\(RunningFleet.publisher), 1, 1)")
      let deleted = try await answer(fleet, "?after=\(start)&wait=25")
      #expect(deleted.status == 410 && String(decoding: deleted.body, as: UTF8.self).contains("EVT0001"))
      let customer = [(name: "Authorization", value: "Bearer " + jwt(customer: 7, publisher: RunningFleet.publisher))]
      #expect(try await fleet.send("GET", fleet.url("/events"), customer).status == 403)
    }
  }
}

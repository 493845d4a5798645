import Domain
import Formats
import Testing

@testable import Ledger

/// The rows that one commit writes for several changes.
struct DeliveryBatchTests {
  private func change(
    _ event: EventId = "e", at endpoint: EndpointId = "a", among all: [EndpointId]? = nil, revision: Int64? = 7,
    round: DeliveryRound = .first, _ kind: DeliveryChange.Kind
  ) throws -> DeliveryChange {
    let body = Array(#"{"broadcasterId":1,"topic":"t"}"#.utf8)
    let delivery = try Delivery(eventId: event, endpointId: nil, round: round, headers: [:], body: body)
    return DeliveryChange(delivery, at: endpoint, look: all.map { EndpointLook($0, revision: revision) }, kind)
  }

  private func ended(
    _ result: DeliveryAttempt.Result, _ number: Int = 1, at time: Int64 = 5, next: Int64? = nil
  ) -> DeliveryChange.Kind {
    .attempted(
      DeliveryAttempt(
        eventId: "e", endpointId: "a", topic: "t", number: number, time: time, result: result, nextAt: next),
      isConfigured: true)
  }

  private func names(_ keys: [DeliveryBatch.Key]) -> [String] {
    keys.map { "\($0.event)/\($0.endpoint)/\($0.round)" }
  }

  @Test func `of an event that was seen, only what has not ended gets a row`() throws {
    let all: [EndpointId] = ["d", "c", "b", "a"]
    let batch = DeliveryBatch([
      try change(at: "a", among: all, ended(.delivered)), try change(at: "b", among: all, ended(.failed, next: 77)),
      try change(at: "c", among: all, .postponed(until: 88)), try change("f", at: "z", among: [], .seen),
    ])
    #expect(batch.seen.map(\.event) == ["e", "f"])
    #expect(names(batch.opened.map(\.key)) == ["e/b/", "e/c/", "e/d/"])
    #expect(batch.opened.map(\.next.attempt) == [2, 1, 1])
    #expect(batch.opened.map(\.next.dueAt) == [77, 88, nil])
    #expect(batch.postponed.isEmpty)
    #expect(names(batch.delivered) == ["e/a/"])
  }

  @Test func `a key stands once, with the furthest attempt`() throws {
    let batch = DeliveryBatch([
      try change(at: "a", ended(.failed, 2, next: 9)), try change(at: "a", ended(.failed, 1, next: 7)),
      try change(at: "b", .postponed(until: 3)), try change(at: "b", .postponed(until: 2)),
      try change(at: "c", round: "r", ended(.abandoned)), try change(at: "c", .dropped),
      try change(at: "c", round: "r", ended(.skipped)),
    ])
    #expect(batch.advanced.map(\.next.attempt) == [3] && batch.advanced.map(\.next.dueAt) == [9])
    #expect(batch.postponed.map(\.time) == [3])
    #expect(names(batch.ended) == ["e/c/", "e/c/r"])
    #expect(batch.log.count == 4)
    #expect(batch.seen.isEmpty)
  }

  @Test func `the last attempt at an endpoint decides about its health`() throws {
    let batch = DeliveryBatch([
      try change(at: "a", ended(.failed, at: 1)), try change(at: "a", ended(.delivered, at: 2)),
      try change(at: "b", ended(.delivered, at: 1)), try change(at: "b", ended(.failed, at: 2)),
      try change(at: "b", ended(.failed, at: 3)), try change(at: "c", ended(.abandoned, at: 4)),
      try change(at: "d", ended(.skipped, at: 5)),
    ])
    #expect(batch.healthy.map(\.id) == ["a", "b"])
    #expect(batch.failing.map(\.endpoint.id) == ["b", "c"])
    #expect(batch.failing.map(\.since) == [2, 4])
  }

  @Test func `looks at one event are one, and tell which endpoints they missed`() throws {
    let batch = DeliveryBatch([
      try change(at: "a", among: ["a", "b"], revision: 7, ended(.delivered)),
      try change(at: "b", among: ["b", "c"], revision: 9, ended(.failed)),
      try change("f", at: "", among: [], revision: nil, .seen), try change("g", at: "z", ended(.failed)),
    ])
    #expect(batch.seen.map(\.revision) == [9, nil])
    #expect(batch.seen.map(\.endpoints) == [["a", "b", "c"], []])
    let written: [(EventId, EndpointId)] = [("e", "b"), ("e", "c"), ("e", "new"), ("f", "a")]
    let keys = written.map { DeliveryBatch.Key(event: $0, endpoint: $1, round: "") }
    #expect(batch.missed(keys) == ["e": ["new"], "f": ["a"]])
  }

  @Test func `what is put aside is logged and ends, and says nothing about its endpoint`() throws {
    let attempt = DeliveryAttempt(
      eventId: "e", endpointId: "a", topic: "t", number: 2, time: 5, error: "why", result: .abandoned)
    let batch = DeliveryBatch([try change(at: "a", round: "r", .putAside(attempt))])
    #expect(names(batch.ended) == ["e/a/r"])
    #expect(batch.log.map(\.attempt) == [attempt])
    #expect(batch.failing.isEmpty && batch.healthy.isEmpty && batch.opened.isEmpty)
  }
}

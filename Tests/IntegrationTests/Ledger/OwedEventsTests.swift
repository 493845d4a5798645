import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// What the ledger owes subscribers.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct OwedEventsTests {
  private typealias Missed = OwedEvents.Missed

  /// Runs a body with a new ledger that has told some events.
  private static func with(
    _ ids: [EventId], _ body: @LoopActor (PostgresClient, OwedEvents) async throws -> Void
  ) async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint) { client in
        let events = ids.enumerated().map { number, id in
          Event(id: id, publisherId: 7, topic: "t", version: 1, time: Int64(number), body: Array("{}".utf8))
        }
        _ = try await client.run(Event.tell(events, audience: []))
        try await body(client, OwedEvents(client))
      }
    }
  }

  private static func number(_ client: PostgresClient, _ text: String) async throws -> Int64 {
    // A connection prepares each text under a name of its own.
    let name = "test \(text.utf8.reduce(0) { ($0 * 31 + Int($1)) % 1_000_003 })"
    return try await client.run(PostgresQuery(PostgresStatement(name, text), [])).first?.int64(0) ?? -1
  }

  @Test func `an owed event leaves the outbox, stays in the ledger, and is settled once for each subscriber`()
    async throws
  {
    try await Self.with(["a", "b"]) { client, owed in
      let rows = [
        Missed(eventId: "a", subscriber: "billing", cause: "full", pause: .zero),
        Missed(eventId: "a", subscriber: "search", cause: "no answer", pause: .seconds(600)),
      ]
      try await owed.owe(rows + rows)
      try await owed.owe(rows)
      #expect(try await Self.number(client, "SELECT count(*) FROM outbox WHERE event_id = 'a'") == 0)
      #expect(try await Self.number(client, "SELECT count(*) FROM outbox WHERE event_id = 'b'") == 1)
      #expect(try await owed.states().map(\.subscriber) == ["billing", "search"])
      #expect(try await owed.states().map(\.count) == [1, 1])
      #expect(try await owed.states().map(\.cause) == ["full", "no answer"])
      // Retention leaves it alone, however old it is.
      _ = try await Retention(client).deleteOldest(synchronizations: .zero, events: .zero, limit: 100)
      #expect(try await Self.number(client, "SELECT count(*) FROM events") == 2)

      #expect(try await owed.take(for: "search", limit: 10).isEmpty)
      let taken = try await owed.take(for: "billing", limit: 10)
      #expect(taken.map(\.event.id) == ["a"])
      #expect(taken.map(\.tries) == [1])
      // Nobody else gets it meanwhile.
      #expect(try await owed.take(for: "billing", limit: 10).isEmpty)
      try await owed.settle(["a", "unknown"], of: "billing")
      #expect(try await owed.states().map(\.subscriber) == ["search"])
      #expect(try await owed.list("search", limit: 10).map(\.eventId) == ["a"])
      #expect(try await owed.list("search", limit: 10).map(\.publisherId) == [7])
    }
  }

  @Test func `what is put off counts its tries, and comes again in the order of the events`() async throws {
    try await Self.with(["a", "b", "c"]) { client, owed in
      try await owed.owe(
        ["c", "b", "a"].map { Missed(eventId: $0, subscriber: "billing", cause: "full", pause: .zero) })
      #expect(try await owed.take(for: "billing", limit: 2).count == 2)
      try await owed.putOff(["a", "b"].map { .init($0, pause: .zero, cause: "still full") }, of: "billing")
      try await owed.putOff([.init("c", pause: .seconds(600), cause: "too large")], of: "billing")
      let again = try await owed.take(for: "billing", limit: 10)
      #expect(again.map(\.event.id) == ["a", "b"])
      #expect(again.map(\.tries) == [2, 2])
      let state = try #require(try await owed.states().first)
      #expect(state.count == 3)
      #expect(state.mostTries == 2)
    }
  }

  @Test func `debts are counted, and can be forgotten`() async throws {
    try await Self.with(["a", "b"]) { client, owed in
      try await owed.owe(["a", "b"].map { Missed(eventId: $0, subscriber: "billing", cause: "full", pause: .zero) })
      let debts = try await owed.debts(of: ["billing", "search"])
      #expect(debts.map(\.subscriber) == ["billing", "search"])
      #expect(debts.map(\.count) == [2, 0])
      #expect(debts[0].oldest != nil && debts[1].oldest == nil)
      #expect(try await owed.forget("search", limit: 10) == 0)
      #expect(try await owed.forget("billing", limit: 1) == 1)
      #expect(try await owed.debts(of: ["billing"]).map(\.count) == [1])
    }
  }

  @Test func `what a subscriber misses for too long is given up, and retention then deletes the event`() async throws {
    try await Self.with(["a", "b"]) { client, owed in
      try await owed.owe(
        [
          Missed(eventId: "a", subscriber: "billing", cause: "full", pause: .zero),
          Missed(eventId: "a", subscriber: "search", cause: "full", pause: .zero),
        ])
      #expect(try await owed.giveUp(after: .seconds(3600), limit: 10).isEmpty)
      #expect(try await owed.giveUp(after: .zero, limit: 10) == ["billing": 1, "search": 1])
      #expect(try await owed.states().isEmpty)
      _ = try await Retention(client).deleteOldest(synchronizations: .zero, events: .zero, limit: 100)
      // The outbox has the other one still.
      #expect(try await Self.number(client, "SELECT count(*) FROM events") == 1)
    }
  }
}

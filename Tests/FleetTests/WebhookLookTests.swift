import Domain
import EventLoop
import Harness
import Messaging
import Postgres
import TestSupport
import Testing

/// Events whose publisher changes its endpoints just before.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct WebhookLookTests {
  @Test func `an endpoint that was made or replaced a moment ago gets the next event`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(["gateway-1", "notifier-1"]) { fleet async throws in
        let api = WebhookAPIClient(fleet: fleet)
        let topic = "entitlementsChanged"
        let path = "webhook_subscriptions/\(topic)"
        func put(_ name: String) async throws {
          #expect(try await api.send("PUT", path, "[{\"url\":\"\(receiver.url(name))\"}]").status == 200)
        }
        try await put("old")
        // The notifier knows the endpoints from here on, for a second.
        try await fleet.publish(["evt_1"], topic: topic)
        _ = await receiver.wait("old", for: 1)
        _ = try await api.create("\"url\":\"\(receiver.url("made"))\",\"topics\":[\"\(topic)\"]")
        try await fleet.publish(["evt_2"], topic: topic)
        #expect(await receiver.wait("made", for: 1).map(\.id) == ["evt_2"])
        _ = await receiver.wait("old", for: 2)

        // For more than ten endpoints, the notifier makes a message for each.
        for number in 0..<12 {
          _ = try await api.create("\"url\":\"\(receiver.url("many\(number)"))\",\"topics\":[\"\(topic)\"]")
        }
        try await fleet.publish(["evt_3"], topic: topic)
        for number in 0..<12 { _ = await receiver.wait("many\(number)", for: 1) }
        try await put("new")
        try await fleet.publish(["evt_4"], topic: topic)
        #expect(await receiver.wait("new", for: 1).map(\.id) == ["evt_4"])
        for number in 0..<12 { _ = await receiver.wait("many\(number)", for: 2) }
        #expect(receiver.got("old").map(\.id) == ["evt_1", "evt_2", "evt_3"])
        let owed = PostgresQuery(PostgresStatement("owed in a test", "SELECT event_id FROM deliveries"))
        try await eventually("nothing is owed") { try await fleet.withLedger { try await $0.run(owed).isEmpty } }
      }
    }
  }
}

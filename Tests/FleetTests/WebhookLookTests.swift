import Domain
import EventLoop
import Fleets
import HTTPServer
import Messaging
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Events whose publisher changes its endpoints just before, over the API or in its file.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct WebhookLookTests {
  @Test func `an endpoint that was made or replaced a moment ago gets the next event`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(["gateway-1", "notifier-1"]) { fleet async throws in
        let api = WebhookAPIClient(fleet: fleet)
        let topic: EventTopic = "entitlementsChanged"
        let path = "webhook_subscriptions/\(topic)"
        func put(_ name: String) async throws {
          #expect(try await api.send("PUT", path, "[{\"url\":\"\(receiver.url(name))\"}]").status == 200)
        }
        // An endpoint may also get the event before, if the notifier has not recorded its look yet.
        func wait(_ name: String, for event: String) async throws {
          try await receiver.requests.wait("\(event) at \(name)") { $0.contains { $0.path == name && $0.id == event } }
        }
        try await put("old")
        // The notifier knows the endpoints from here on, for a second.
        try await fleet.publish(["evt_1"], topic: topic)
        try await wait("old", for: "evt_1")
        _ = try await api.create("\"url\":\"\(receiver.url("made"))\",\"topics\":[\"\(topic)\"]")
        try await fleet.publish(["evt_2"], topic: topic)
        try await wait("made", for: "evt_2")

        // For more than ten endpoints, the notifier makes a message for each.
        for number in 0..<12 {
          _ = try await api.create("\"url\":\"\(receiver.url("many\(number)"))\",\"topics\":[\"\(topic)\"]")
        }
        try await fleet.publish(["evt_3"], topic: topic)
        for number in 0..<12 { try await wait("many\(number)", for: "evt_3") }
        try await put("new")
        try await fleet.publish(["evt_4"], topic: topic)
        try await wait("new", for: "evt_4")
        for number in 0..<12 { try await wait("many\(number)", for: "evt_4") }
        #expect(!receiver.got("old").map(\.id).contains("evt_4"))
        let owed = PostgresQuery(PostgresStatement("owed in a test", "SELECT event_id FROM deliveries"))
        try await eventually("nothing is owed") { try await fleet.withLedger { try await $0.run(owed).isEmpty } }
      }
    }
  }

  @Test func `an endpoint that the worker's file lacks gets the event, again after a failure`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      let publisher: PublisherId = 1099
      receiver.answers["a"] = { $0 == 1 ? .text(500, "") : .text(200, "") }
      let prepare: @LoopActor (RunningFleet) throws -> Void = { fleet in
        try fleet.writePublisher(
          publisher,
          #""webhooks": [{"id": "main", "url": "\#(receiver.url("a"))", "secretFile": "../webhook.secret"}]"#)
      }
      try await RunningFleet.with(["gateway-1", "notifier-1"], prepare: prepare) { fleet async throws in
        try await fleet.send(try await fleet.commit(["evt_1"], of: publisher, isConfigured: false))
        #expect(try await receiver.wait("a", for: 2).map(\.id) == ["evt_1", "evt_1"])
      }
    }
  }
}

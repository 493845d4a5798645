import AMQP
import EventLoop
import Fleets
import HTTP
import HTTPServer
import Messaging
import ServerSupport
import TestSupport
import Testing

/// A subscriber with an exchange of its own, whose queue takes nothing for a while.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(60))
)
@LoopActor
struct SubscriberTests {
  /// No worker runs, so no sweep of the outbox hides an event that its notifier does not give to everybody.
  @Test func `a disabled endpoint is told to every subscriber and to the other endpoints`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(
        ["gateway-1", "notifier-1"], overrides: ["COUNTERSIGN_EVENTS_SUBSCRIBERS": "billing"]
      ) { fleet async throws in
        let topology = fleet.topology
        let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "billing")
        let channel = try await connection.openChannel()
        let told = Mailbox<String>(of: "events of two exchanges")
        for name in ["billing", "shared"] {
          try await topology.declareEvents(for: name, on: channel)
          let queue = "\(topology.prefix).test.\(name)"
          try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
          try await channel.bindQueue(queue, to: topology.events(for: name), routingKey: "webhookEndpointDisabled.#")
          try await channel.consume(queue, tag: name) { delivery in
            channel.acknowledge(delivery)
            told.put("\(name) \(delivery.properties.messageID ?? "")")
          }
        }
        for name in ["billing", "shared"] {
          let metric = "countersign_connection_up{connection=\"subscriber \(name)\"}"
          try await eventually("the notifier reaches \(name)") { try await fleet.metric("notifier-1", metric) == 1 }
        }
        let api = WebhookAPIClient(fleet: fleet)
        _ = try await api.create(
          #""url":"\#(receiver.url("gone"))","topics":["inappPurchaseSyncResult"]"#)
        _ = try await api.create(
          #""url":"\#(receiver.url("operations"))","topics":["webhookEndpointDisabled"]"#)
        receiver.answers["gone"] = { _ in .text(410, "") }
        try await fleet.publish(["evt_1"])
        let webhook = try await receiver.wait("operations", for: 1)[0]
        let copies = try await told.wait { Set($0).count == 2 }
        #expect(Set(copies) == ["billing \(webhook.id)", "shared \(webhook.id)"])
        try await eventually("it has left the outbox") { try await fleet.count("outbox") == 0 }
        #expect(try await fleet.count("owed_events") == 0)
        // The deletion of a queue ends its consumer, and with it this library's channel.
        let other = try await connection.openChannel()
        for name in ["billing", "shared"] { try await other.deleteQueue("\(topology.prefix).test.\(name)") }
        await connection.close()
      }
    }
  }

  @Test func `a full queue delays nobody else, is listed, and gets what it missed`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: ["COUNTERSIGN_EVENTS_SUBSCRIBERS": "billing"]
    ) { fleet in
      fleet.mayRepair = true
      let queue = try await FullQueue(of: "billing", in: fleet)

      let ids = (0..<5).map { "full-\($0)" }
      for (number, id) in ids.enumerated() {
        let answer = try await fleet.register("10000000\(10 + number)", id: id)
        #expect(answer.status == 202, "\(String(decoding: answer.body, as: UTF8.self))")
      }
      #expect(try await fleet.finished(Set(ids)).count == ids.count)
      let misses = "countersign_subscriber_misses_total{subscriber=\"billing\"}"
      try await eventually("the ledger owes them") { try await fleet.metric("worker-1", misses) >= 5 }
      try await eventually("they have left the outbox") { try await fleet.count("outbox") == 0 }
      #expect(try await fleet.count("owed_events") >= 5)
      let listed = try await fleet.command(["subscribers"])
      #expect(listed.contains("\"subscriber\":\"billing\""), "\(listed)")
      let events = try await fleet.command(["subscribers", "--events", "billing"])
      #expect(events.contains("\"topic\":\"inappPurchaseSyncResult\""), "\(events)")

      let mailbox = try await queue.replace()
      try await mailbox.wait { Set($0).isSuperset(of: ids) }
      try await eventually("nothing is owed") { try await fleet.count("owed_events") == 0 }
      #expect(try await fleet.command(["subscribers"]) == "")
      try await queue.close()
    }
  }
}

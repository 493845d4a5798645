import AMQP
import Domain
import EventLoop
import Fleets
import Glibc
import HTTP
import HTTPServer
import JSON
import Messaging
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Webhooks while receivers hang, notifiers die, and servers are away.
@Suite(
  .runningFleet,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct WebhookOutageTests: WebhookSuite {
  @Test(.breakingServers) func `an endpoint that hangs holds up nobody, and costs little`() async throws {
    try await with(overrides: Self.patient) { (parts) async throws in
      let hanging = try await parts.endpoint("hanging").id
      _ = try await parts.endpoint("refusing", #""retryPolicy":{"enabled":false}"#)
      _ = try await parts.endpoint("healthy")
      parts.receiver.silent = ["hanging"]
      parts.receiver.answers["refusing"] = { _ in .text(503, "") }
      let ids = (0..<60).map { "evt_\($0)" }
      try await parts.fleet.publish(ids)
      // Every webhook of the other endpoints arrives while the hanging endpoints answer none.
      let healthy = try await parts.receiver.wait("healthy", for: ids.count)
      #expect(Set(healthy.map(\.id)) == Set(ids))
      _ = try await parts.receiver.wait("refusing", for: ids.count)
      try await eventually("only attempts are held") {
        try await parts.fleet.metric("notifier-1", "countersign_deliveries_in_flight") <= 2
      }
      #expect(parts.receiver.got("hanging").count <= 2)
      parts.receiver.silent = []
      try await parts.receiver.requests.wait { Set($0.filter { $0.path == "hanging" }.map(\.id)) == Set(ids) }
      let log = try await parts.log(hanging) { $0.count >= ids.count }
      #expect(log.allSatisfy { $0.text("outcome") == "delivered" && $0.number("attempt") == 1 })
      #expect(parts.receiver.got("hanging").count == ids.count)
    }
  }

  @Test func `killed between the attempt and its end, it is tried once more, with the same id`() async throws {
    try await with(overrides: Self.patient) { (parts) async throws in
      let id = try await parts.endpoint("a").id
      parts.receiver.silent = ["a"]
      try await parts.fleet.publish(["evt_1"])
      _ = try await parts.receiver.wait("a", for: 1)
      await parts.fleet.kill("notifier-1")
      parts.receiver.silent = []
      try parts.fleet.start("notifier-2")
      let requests = try await parts.receiver.wait("a", for: 2)
      #expect(requests.map(\.id) == ["evt_1", "evt_1"])
      try await parts.fleet.ready("notifier-2")
      let log = try await parts.log(id) { $0.last?.text("outcome") == "delivered" }
      #expect(log.count == 1)
      #expect(parts.receiver.got("a").count == 2)
    }
  }

  @Test func `a copy of a message leads to no second attempt`() async throws {
    try await with(overrides: Self.patient) { (parts) async throws in
      let id = try await parts.endpoint("a").id
      parts.receiver.silent = ["a"]
      try await parts.fleet.publish(["evt_1"])
      _ = try await parts.receiver.wait("a", for: 1)
      // The same happens when the channel is lost during the attempt.
      try await parts.fleet.publish(["evt_1"])
      try await eventually("the copy is put off") {
        try await parts.fleet.metric(
          "notifier-1", "countersign_webhook_deliveries_put_off_total") >= 1
      }
      parts.receiver.silent = []
      try await eventually("the copy finds it made") {
        parts.fleet.logged("attempt already made").contains { $0.contains(id) }
      }
      #expect(try await parts.log(id) { !$0.isEmpty }.count == 1)
      #expect(parts.receiver.got("a").count == 1)
    }
  }

  @Test func `told to stop while an attempt hangs, it hands the delivery back`() async throws {
    let noGrace = ["COUNTERSIGN_SHUTDOWN_GRACE_SECONDS": "0"]
    try await with(overrides: noGrace.merging(Self.patient) { $1 }) { (parts) async throws in
      let id = try await parts.endpoint("a").id
      parts.receiver.silent = ["a"]
      try await parts.fleet.publish(["evt_1"])
      _ = try await parts.receiver.wait("a", for: 1)
      parts.fleet.roles["notifier-1"]?.process.send(SIGTERM)
      #expect(try await parts.fleet.roles["notifier-1"]?.process.ended() == 0)
      parts.receiver.silent = []
      try parts.fleet.start("notifier-2")
      try await parts.fleet.ready("notifier-2")
      let log = try await parts.log(id) { !$0.isEmpty }
      // The endpoint did not fail.
      #expect(log.map { $0.text("outcome") } == ["delivered"])
      #expect(log[0].number("attempt") == 1)
      #expect(parts.receiver.got("a").count == 2)
    }
  }

  @Test(.breakingServers)
  func `without Redis all are served but those with a rate, and these afterwards`() async throws {
    let servers = TestServers.current!
    try await with { (parts) async throws in
      _ = try await parts.endpoint("a")
      _ = try await parts.endpoint("paced", #""maxPerSecond":100"#)
      let off = try await parts.endpoint("off").id
      #expect(try await parts.api.send("POST", "webhook_endpoints/\(off)/disable").status == 200)
      try await parts.fleet.publish(["evt_1"])
      _ = try await parts.receiver.wait("a", for: 1)
      _ = try await parts.receiver.wait("paced", for: 1)
      _ = try await parts.log(off) { $0.count == 1 }
      try await servers.stop(.redis)
      try await parts.fleet.publish(["evt_2"])
      let requests = try await parts.receiver.wait("a", for: 2)
      #expect(requests[1].id == "evt_2")
      try await eventually("it is put off") {
        let putOff = "countersign_webhook_deliveries_put_off_total{cause=\"store\"}"
        return try await parts.fleet.metric("notifier-1", putOff) >= 1
      }
      #expect(parts.receiver.got("paced").count == 1)
      try await servers.start(.redis)
      _ = try await parts.receiver.wait("paced", for: 2)
      let log = try await parts.log(off) { $0.count == 2 }
      #expect(log.allSatisfy { $0.text("outcome") == "skipped" })
      #expect(parts.receiver.got("off").isEmpty)
    }
  }

  @Test(.breakingServers) func `without the ledger what is known is served, and recorded afterwards`() async throws {
    let servers = TestServers.current!
    try await with { (parts) async throws in
      let id = try await parts.endpoint("a").id
      try await parts.fleet.publish(["evt_1"])
      _ = try await parts.receiver.wait("a", for: 1)
      _ = try await parts.log(id) { $0.count == 1 }
      let later = try await parts.fleet.commit(["evt_2", "evt_3"])
      try await servers.kill(.postgres)
      try await parts.fleet.send(later)
      let requests = try await parts.receiver.wait("a", for: 3)
      #expect(Set(requests.map(\.id)) == ["evt_1", "evt_2", "evt_3"])
      try await eventually("the records wait") {
        try await parts.fleet.metric("notifier-1", "countersign_webhook_records_waiting") >= 2
      }
      let answer = try await parts.api.send("GET", "webhook_endpoints/\(id)/attempts")
      #expect(answer.status == 503 && answer.headers.header("retry-after") != nil)
      // The delivery is for an endpoint that may have been created a moment ago.
      try await parts.fleet.send([
        AMQPMessage(
          exchange: "", routingKey: parts.fleet.topology.deliveries, messageID: "evt_new",
          headers: ["countersign-endpoint": "ep_new"],
          body: Array(#"{"broadcasterId":1001,"data":{},"topic":"inappPurchaseSyncResult"}"#.utf8))
      ])
      try await eventually("it is put off") {
        let putOff = "countersign_webhook_deliveries_put_off_total{cause=\"store\"}"
        return try await parts.fleet.metric("notifier-1", putOff) >= 1
      }
      #expect(parts.fleet.logged("\"event\":\"delivery buried\"").isEmpty)
      try await servers.start(.postgres)
      let log = try await parts.log(id) { $0.count == 3 }
      #expect(log.allSatisfy { $0.text("outcome") == "delivered" })
      #expect(try await parts.fleet.metric("notifier-1", "countersign_webhook_records_waiting") == 0)
      #expect(parts.receiver.got("a").count == 3)
      // The ledger answers, and has no such endpoint.
      try await eventually("the unknown one's is buried") {
        let buried = "countersign_dead_deliveries_total{reason=\"endpoint_gone\"}"
        return try await parts.fleet.metric("notifier-1", buried) >= 1
      }
      let left = try await parts.fleet.withLedger { ledger in
        try await ledger.run(PostgresQuery(PostgresStatement("left", "SELECT event_id FROM deliveries"))).count
      }
      #expect(left == 0)
    }
  }

  @Test(.breakingServers)
  func `after RabbitMQ was wiped every due delivery is made, and a waiting one too`() async throws {
    let servers = TestServers.current!
    let soon = [
      "COUNTERSIGN_NOTIFIER_SWEEP_INTERVAL_SECONDS": "0.5", "COUNTERSIGN_NOTIFIER_SWEEP_AFTER_SECONDS": "1",
    ]
    try await with(overrides: soon) { (parts) async throws in
      let id = try await parts.endpoint("a", #""retryPolicy":{"scheduleSeconds":[3600]}"#).id
      parts.receiver.answers["a"] = { $0 == 1 ? .text(500, "") : .text(200, "") }
      try await parts.fleet.publish(["evt_1"])
      _ = try await parts.log(id) { $0.count == 1 }
      // One delivery waits for its second attempt, and no queue ever had the other one.
      try await servers.stop(.rabbitmq)
      try await servers.wipe(.rabbitmq)
      _ = try await parts.fleet.commit(["evt_2"])
      try await servers.start(.rabbitmq)
      // As if the hour were over. Until now no second attempt could come, however long the servers have taken.
      try await parts.fleet.execute("UPDATE deliveries SET due_at = now() WHERE event_id = 'evt_1'")
      let requests = try await parts.receiver.wait("a", for: 3)
      #expect(requests.filter { $0.id == "evt_1" }.count >= 2)
      #expect(requests.contains { $0.id == "evt_2" })
      let log = try await parts.log(id) { $0.count { $0.text("outcome") == "delivered" } >= 2 }
      #expect(
        log.filter { $0.text("outcome") == "delivered" }.map { $0.text("eventId") ?? "" }.sorted() == [
          "evt_1", "evt_2",
        ])
      #expect(try await parts.fleet.metric("notifier-1", "countersign_deliveries_enqueued_again_total") >= 2)
    }
  }
}

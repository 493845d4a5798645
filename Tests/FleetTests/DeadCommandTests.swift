import AMQP
import Crypto
import Domain
import EventLoop
import Fleets
import HTTP
import JSON
import Messaging
import ServerSupport
import Simulator
import TestSupport
import Testing

/// `countersign dead` on a fleet: what an operator does with what was given up.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct DeadCommandTests {
  private func lines(_ fleet: RunningFleet, _ words: [String]) async throws -> [String] {
    try await fleet.command(["dead"] + words).split(separator: "\n").map(String.init)
  }

  private func dead(_ id: String, customer: String, _ fleet: RunningFleet) throws -> AMQPMessage {
    let job = Job(
      synchronizationId: SynchronizationId(id), publisherId: RunningFleet.publisher, customerId: CustomerId(customer),
      transactionId: "1000000000042", registeredAt: 1_700_000_000_000)
    // RabbitMQ has delivered it too often.
    return JobMessage.message(job, attempt: 51, queue: fleet.topology.deadJobs)
  }

  @Test func `a delivery that was given up is listed, retried once, and on record`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"]) { fleet in
      let api = WebhookAPIClient(fleet: fleet)
      fleet.webhookStatus = { _ in 500 }
      #expect(try await fleet.register("1000000000001", id: "a").status == 202)
      let event = try await fleet.finished(["a"])[0]
      try await eventually("the delivery is dead") { try await lines(fleet, ["list"]).count == 4 }
      let listed = try await lines(fleet, ["list", "--kind", "deliveries", "--cause", "abandoned", "--json"])
      #expect(listed.last == #"{"kind":"deliveries","looked":1,"matching":1}"#)
      let line: JSONValue = try JSONText(Array(listed[0].utf8)).decoded()
      #expect(line.text("id") == event.id && line.text("endpointId") == "main" && line.text("buriedAt") != nil)
      #expect(line.number("attempt") == 4 && line.number("publisherId") == RunningFleet.publisher.number)
      let shown = try await lines(fleet, ["show", "--kind", "deliveries", "--id", event.id])[0]
      let hash = CustomerDigest.short(of: "7", of: RunningFleet.publisher.number)
      #expect(shown.contains(#""customerId":"\#(hash)""#) && !shown.contains(#""customerId":"7""#), "\(shown)")
      let plain = try await lines(fleet, ["show", "--kind", "deliveries", "--id", event.id, "--plain"])[0]
      #expect(plain.contains(#""customerId":"7""#), "\(plain)")
      for filter in [["--cause", "crashed"], ["--publisher", "9"], ["--endpoint", "other"], ["--older-than", "1h"]] {
        let none = try await lines(fleet, ["retry", "--kind", "deliveries"] + filter)
        #expect(none == [#"{"kind":"deliveries","looked":1,"matching":0,"retried":0}"#])
      }

      // A disabled endpoint would skip it, and acknowledge it.
      let retry = ["retry", "--kind", "deliveries", "--as", "kim"]
      try await fleet.execute(
        """
        INSERT INTO webhook_health (publisher_id, endpoint_id, disabled_at, disabled_reason)
        VALUES (\(RunningFleet.publisher), 'main', now(), 'gone')
        ON CONFLICT (publisher_id, endpoint_id) DO UPDATE SET disabled_at = now(), disabled_reason = 'gone'
        """)
      let kept = #"{"kind":"deliveries","looked":1,"matching":1,"retried":0,"kept":{"endpoint_disabled":1}}"#
      #expect(try await lines(fleet, retry) == [kept])
      #expect(try await api.send("POST", "webhook_endpoints/main/enable").status == 200)

      let before = fleet.webhooks.all.count
      fleet.webhookStatus = { _ in 200 }
      #expect(
        try await lines(fleet, retry + ["--dry-run"]) == [
          #"{"kind":"deliveries","looked":1,"matching":1,"retried":0}"#
        ])
      #expect(
        try await lines(fleet, retry + ["--limit", "1"]) == [
          #"{"kind":"deliveries","looked":1,"matching":1,"retried":1}"#
        ])
      let all = try await fleet.webhooks.wait(for: before + 1)
      #expect(all[before].id == event.id && all[before].isVerified && all[before].body == event.body)
      #expect(try await lines(fleet, ["list"]).last?.contains(#""matching":0"#) == true)
      try await eventually("it is in the endpoint's log") {
        try await api.send("GET", "webhook_endpoints/main/attempts?outcome=delivered").list("attempts").count == 1
      }
      let audit = try await fleet.send("GET", fleet.url("/audit?limit=1"), fleet.headers(RunningFleet.publisher))
      let text = String(decoding: audit.body, as: UTF8.self)
      #expect(text.contains(#""action":"dead.retried","actor":"operator""#) && !text.contains("kim"), "\(text)")
    }
  }

  @Test func `a dead job that is retried twice has one effect, and what cannot run stays`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let twice = try dead("twice", customer: "7", fleet)
      let malformed = AMQPMessage(
        exchange: "", routingKey: fleet.topology.deadJobs, messageID: "m",
        headers: ["countersign-reason": "not a job: the body is not JSON"], body: [0x7b])
      // As after a command that was killed between the publish and the acknowledgement.
      try await fleet.send([twice, malformed, twice])
      let retried = try await lines(fleet, ["retry", "--kind", "jobs"])
      #expect(retried == [#"{"kind":"jobs","looked":3,"matching":3,"retried":2,"kept":{"unreadable":1}}"#])
      _ = try await fleet.finished(["twice"])
      try await eventually("both copies are done") {
        try await fleet.command(["jobs", "list"]) == "{\"matching\":0}\n"
      }
      #expect(Set(fleet.events.all.filter { $0.synchronizationId == "twice" }.map(\.id)).count == 1)
      #expect(
        try await lines(fleet, ["bury", "--kind", "jobs", "--cause", "malformed"]) == [
          #"{"kind":"jobs","looked":1,"matching":1,"buried":1}"#
        ])
      #expect(try await lines(fleet, ["list", "--kind", "jobs"]) == [#"{"kind":"jobs","looked":0,"matching":0}"#])
    }
  }

  @Test func `one command takes what is about erased customers out of the dead queues`() async throws {
    try await RunningFleet.with(["gateway-1"]) { fleet in
      for customer in ["kim@example.com", "other@example.com"] {
        #expect(try await fleet.putCustomer(customer).status == 201)
      }
      var later = try dead("later", customer: "kim@example.com", fleet)
      later.body = Array(
        String(decoding: later.body, as: UTF8.self).replacing("1700000000000", with: "9700000000000").utf8)
      let event = #"{"broadcasterId":1001,"data":{"purchase":{"customerId":"kim@example.com"}},"topic":"ownerChanged"}"#
      try await fleet.send([
        try dead("kim", customer: "kim@example.com", fleet), try dead("other", customer: "other@example.com", fleet),
        later,
        AMQPMessage(
          exchange: "", routingKey: fleet.topology.deadJobs, messageID: "m", body: Array("kim@example.com".utf8)),
        AMQPMessage(
          exchange: "", routingKey: fleet.topology.deadDeliveries, messageID: "evt_1", type: "ownerChanged",
          body: Array(event.utf8)),
      ])
      // What nobody can read may name anybody.
      let nobody = [
        #"{"kind":"jobs","looked":4,"matching":1,"erased":0}"#,
        #"{"kind":"deliveries","looked":1,"matching":0,"erased":0}"#,
      ]
      #expect(try await lines(fleet, ["erase", "--dry-run"]) == nobody)
      let path = fleet.url("/customers/kim%40example.com")
      #expect(try await fleet.send("DELETE", path, fleet.headers(RunningFleet.publisher)).status == 200)
      #expect(try await fleet.putCustomer("kim@example.com").status == 201)
      let erased = [
        #"{"kind":"jobs","looked":4,"matching":2,"erased":2}"#,
        #"{"kind":"deliveries","looked":1,"matching":1,"erased":1}"#,
      ]
      #expect(try await lines(fleet, ["erase"]) == erased)
      let left = try await lines(fleet, ["list", "--plain"])
      #expect(left.count == 5 && left[0].contains("other@") && left[1].contains("kim@"), "\(left)")
      // Who came back is another customer, whom the tool can still name.
      let buried = try await lines(
        fleet, ["bury", "--kind", "jobs", "--publisher", "1001", "--customer", "kim@example.com"])
      #expect(buried == [#"{"kind":"jobs","looked":2,"matching":1,"buried":1}"#])
      let audit = try await fleet.send("GET", fleet.url("/audit?limit=10"), fleet.headers(RunningFleet.publisher))
      let text = String(decoding: audit.body, as: UTF8.self)
      #expect(text.contains(#""action":"dead.erased""#) && text.contains(#""action":"dead.buried""#))
      #expect(!text.contains(#""customer":"kim"#), "\(text)")
    }
  }
}

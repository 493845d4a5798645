import AMQP
import Crypto
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

/// Webhooks at receivers that fail, redirect and recover.
@Suite(
  .runningFleet,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct WebhookDeliveryTests: WebhookSuite {
  @Test func `what fails is tried again with the same id, and every attempt is in the log`() async throws {
    try await with { (parts) async throws in
      let id = try await parts.endpoint("a").id
      parts.receiver.answers["a"] = { number in
        switch number {
        case 1:
          HTTPServerResponse(status: 302, headers: [("Location", parts.receiver.url("elsewhere"))], body: [])
        case 2: .text(500, String(repeating: "x", count: 100_000))
        default: .text(200, "thanks")
        }
      }
      try await parts.fleet.publish(["evt_1"])
      let requests = try await parts.receiver.wait("a", for: 3)
      #expect(Set(requests.map(\.id)) == ["evt_1"])
      #expect(parts.receiver.got("elsewhere").isEmpty)
      let log = try await parts.log(id) { $0.count == 3 }
      #expect(log.map { $0.number("status") } == [302, 500, 200])
      #expect(log.map { $0.number("attempt") } == [1, 2, 3])
      #expect(log.map { $0.text("outcome") } == ["failed", "failed", "delivered"])
      #expect(log[1].text("response") == String(repeating: "x", count: 1024))
      #expect(log[2].text("response") == "thanks")
      #expect(log.map { $0.number("version") } == [1, 1, 1])
      #expect(log.map { $0.text("nextAttemptAt") != nil } == [true, true, false])
    }
  }

  @Test func `410 disables at once, everybody is told, and nothing is lost`() async throws {
    try await with { (parts) async throws in
      let gone = try await parts.endpoint("gone").id
      _ = try await parts.endpoint("operations", topics: "webhookEndpointDisabled")
      parts.receiver.answers["gone"] = { _ in .text(410, "") }
      try await parts.fleet.publish(["evt_1"])
      let told = try await parts.receiver.wait("operations", for: 1)[0]
      let text = String(decoding: told.request.body, as: UTF8.self)
      #expect(text.contains("\"topic\":\"webhookEndpointDisabled\""))
      #expect(text.contains("\"endpointId\":\"\(gone)\"") && text.contains("\"reason\":\"gone\""))
      let state = try await parts.api.send("GET", "webhook_endpoints/\(gone)")
      #expect(state["enabled"] == .bool(false) && state.text("disabledReason") == "gone")
      let metric = "countersign_webhook_endpoints_disabled_total{reason=\"gone\"}"
      try await eventually("it is counted") { try await parts.fleet.metric("notifier-1", metric) == 1 }

      try await parts.fleet.publish(["evt_2"])
      let log = try await parts.log(gone) { $0.count == 2 }
      #expect(log.map { $0.text("outcome") } == ["abandoned", "skipped"])
      #expect(parts.receiver.got("gone").count == 1)

      parts.receiver.answers["gone"] = nil
      #expect(try await parts.api.send("POST", "webhook_endpoints/\(gone)/enable").status == 200)
      let recovered = try await parts.api.send("POST", "webhook_endpoints/\(gone)/recover", #"{"since":0}"#)
      #expect(recovered["recovered"] == .integer(2))
      let requests = try await parts.receiver.wait("gone", for: 3)
      #expect(Set(requests.dropFirst().map(\.id)) == ["evt_1", "evt_2"])
      _ = try await parts.log(gone) { $0.filter { $0.text("outcome") == "delivered" }.count == 2 }
      let again = try await parts.api.send("POST", "webhook_endpoints/\(gone)/recover", #"{"since":0}"#)
      #expect(again["recovered"] == .integer(0))
      #expect(parts.receiver.got("operations").count == 1)
    }
  }

  @Test func `an endpoint that only fails is disabled after a while`() async throws {
    let soon = ["COUNTERSIGN_NOTIFIER_DISABLE_AFTER_SECONDS": "1"]
    try await with(overrides: soon) { (parts) async throws in
      let id = try await parts.endpoint("failing", #""retryPolicy":{"scheduleSeconds":[1,1,1,1,1,1]}"#).id
      parts.receiver.answers["failing"] = { _ in .text(500, "") }
      try await parts.fleet.publish(["evt_1"])
      let log = try await parts.log(id) { $0.last?.text("outcome") == "skipped" }
      #expect(log.count < 7)
      #expect(try await parts.api.send("GET", "webhook_endpoints/\(id)").text("disabledReason") == "failing")
      try await eventually("it is logged") { parts.fleet.log("notifier-1").contains("endpoint disabled") }
    }
  }

  @Test(arguments: [429, 503]) func `Retry-After is kept to`(status: Int) async throws {
    try await with { (parts) async throws in
      let id = try await parts.endpoint("busy").id
      parts.receiver.answers["busy"] = { number in
        number == 1 ? HTTPServerResponse(status: status, headers: [("Retry-After", "2")]) : .text(200, "")
      }
      try await parts.fleet.publish(["evt_1"])
      let requests = try await parts.receiver.wait("busy", for: 2)
      #expect(try #require(Int(requests[1].timestamp)) - #require(Int(requests[0].timestamp)) >= 2)
      #expect(try await parts.log(id) { $0.count == 2 }.map { $0.text("outcome") } == ["failed", "delivered"])
    }
  }

  @Test func `an event for many endpoints comes to each of them once`() async throws {
    try await with { (parts) async throws in
      let paths = (0..<25).map { "many\($0)" }
      for path in paths { _ = try await parts.endpoint(path) }
      try await parts.fleet.publish(["evt_1", "evt_2"])
      for path in paths {
        #expect(Set(try await parts.receiver.wait(path, for: 2).map(\.id)) == ["evt_1", "evt_2"])
      }
      try await eventually("nothing is under way any more") {
        try await parts.fleet.metric("notifier-1", "countersign_deliveries_in_flight") == 0
      }
      #expect(parts.receiver.requests.all.count == 2 * paths.count)
    }
  }

  @Test func `a message with nothing but endpoint and attempt is due at once`() async throws {
    try await with { (parts) async throws in
      let body = #"{"broadcasterId":1001,"data":{},"topic":"inappPurchaseSyncResult"}"#
      try await parts.fleet.send([
        AMQPMessage(
          exchange: "", routingKey: parts.fleet.topology.deliveries, messageID: "evt_plain",
          headers: ["countersign-endpoint": "main", "countersign-attempt": 2], body: Array(body.utf8))
      ])
      let webhooks = try await parts.fleet.webhooks.wait(for: 1)
      #expect(webhooks[0].id == "evt_plain" && webhooks[0].isVerified)
      let log = try await parts.log("main") { !$0.isEmpty }
      #expect(log[0].number("attempt") == 2)
    }
  }

  @Test func `during a rotation both keys sign, and their public keys verify`() async throws {
    try await with { (parts) async throws in
      let created = try await parts.api.send(
        "POST", "webhook_endpoints", #"{"url":"\#(parts.receiver.url("a"))","signature":"v1a"}"#)
      let (id, old) = (try #require(created.text("id")), try #require(created.text("publicKey")))
      let rotated = try await parts.api.send("POST", "webhook_endpoints/\(id)/rotate_secret", #"{"overlapSeconds":60}"#)
      let new = try #require(rotated.text("publicKey"))
      // A notifier's copy of the endpoints may be a second old.
      try await eventually("both sign") {
        try await parts.api.send("POST", "webhook_endpoints/\(id)/test").status == 202
          && parts.receiver.got("a").last?.signature.split(separator: " ").count == 2
      }
      let request = try #require(parts.receiver.got("a").last)
      let message = Array("\(request.id).\(request.timestamp).".utf8) + request.request.body
      for (signature, text) in zip(request.signature.split(separator: " "), [new, old]) {
        #expect(signature.hasPrefix("v1a,") && text.hasPrefix("whpk_"))
        let key = try Ed25519PublicKey(try #require(Base64.decode(text.dropFirst(5))))
        let bytes = try #require(Base64.decode(signature.dropFirst(4)))
        #expect(key.isValidSignature(bytes, for: message))
      }
    }
  }

  @Test func `an event of a publisher that is not configured yet waits, and its attempts begin at 1`() async throws {
    let schedule = [
      "COUNTERSIGN_NOTIFIER_RETRY_SCHEDULE_SECONDS": Array(repeating: "1", count: 30).joined(separator: ",")
    ]
    try await with(overrides: schedule) { (parts) async throws in
      let publisher: PublisherId = 1099
      let fleet = parts.fleet
      try await fleet.send([
        AMQPMessage(
          exchange: "", routingKey: fleet.topology.deliveries, messageID: "evt_early",
          body: Array(#"{"broadcasterId":\#(publisher),"data":{},"topic":"inappPurchaseSyncResult"}"#.utf8))
      ])
      try await eventually("it was put off twice") {
        let putOff = "countersign_webhook_deliveries_put_off_total{cause=\"publisher\"}"
        return try await fleet.metric("notifier-1", putOff) >= 2
      }
      try fleet.writePublisher(
        publisher,
        #""webhooks": [{"id": "main", "url": "\#(parts.receiver.url("a"))", "secretFile": "../webhook.secret"}]"#)
      fleet.roles["notifier-1"]?.process.send(SIGHUP)
      fleet.roles["gateway-1"]?.process.send(SIGHUP)
      #expect(try await parts.receiver.wait("a", for: 1)[0].id == "evt_early")
      try await eventually("the attempt is the first") {
        let api = WebhookAPIClient(fleet: fleet, publisher: publisher)
        let answer = try await api.send(
          "GET", "webhook_endpoints/main/attempts",
          headers: [
            (name: "X-Publisher-Token", value: "token-\(publisher)")
          ])
        let log = answer.list("attempts")
        return log.count == 1 && log[0].number("attempt") == 1 && log[0].text("outcome") == "delivered"
      }
    }
  }

  @Test func `an address that is not allowed is never connected to`() async throws {
    let closed = ["COUNTERSIGN_NOTIFIER_ALLOWED_NETWORKS": "192.0.2.0/24"]
    let byName: @LoopActor (RunningFleet) throws -> Void = { try $0.nameEndpoint() }
    try await with(overrides: closed, prepare: byName) { (parts) async throws in
      // The publisher's file belongs to the platform team, and is no exception.
      try await parts.fleet.publish(["evt_1"])
      let log = try await parts.log("main") { !$0.isEmpty }
      #expect(log[0].text("error")?.contains("no address that is allowed") == true)
      let literal = try await parts.api.send(
        "POST", "webhook_endpoints", "{\"url\":\"\(parts.receiver.url("a"))\"}")
      #expect(literal.status == 400)
      let name = try await parts.api.create(
        "\"url\":\"\(parts.receiver.url("a").replacing("127.0.0.1", with: "localhost"))\"")
      #expect(try await parts.api.send("POST", "webhook_endpoints/\(name.id)/test").status == 202)
      let other = try await parts.log(name.id) { !$0.isEmpty }
      #expect(other[0].text("error")?.contains("no address that is allowed") == true)
      #expect(parts.receiver.requests.all.isEmpty)
      #expect(parts.fleet.webhooks.all.isEmpty)
    }
  }
}

import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import HTTP
import HTTPServer
import JSON
import ServerSupport
import TestSupport
import Testing

/// The log of webhooks, and how a publisher sends them again: gateway, worker and notifier together.
@Suite(
  .runningFleet,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct WebhookReplayTests {
  private static let roles = ["gateway-1", "worker-1", "notifier-1", "notifier-2"]

  private func with(_ body: @LoopActor (WebhookAPIClient, WebhookReceiver) async throws -> Void) async throws {
    try await WebhookReceiver.with { receiver in
      receiver.answers["own"] = { _ in .text(200, "answer") }
      try await RunningFleet.with(Self.roles) { fleet in
        try await body(WebhookAPIClient(fleet: fleet), receiver)
      }
    }
  }

  private func signatures(_ received: WebhookReceiver.Received) -> [String] {
    received.signature.split(separator: " ").map(String.init)
  }

  /// The signature of a request with a shared secret.
  private func expected(_ received: WebhookReceiver.Received, _ secret: String) -> String {
    let key = Base64.decode(secret.dropFirst(6)) ?? []
    let message = Array("\(received.id).\(received.timestamp).".utf8) + received.request.body
    return "v1," + Base64.encode(HMACSHA256.authenticate(message, key: key))
  }

  @Test func `every attempt is listed, by endpoint and by event, and what failed is recovered`() async throws {
    try await with { api, _ in
      let fleet = api.fleet
      fleet.webhookStatus = { _ in 500 }
      #expect(try await fleet.register("1000000000001", id: "a").status == 202)
      let event = try await fleet.finished(["a"])[0]
      // The schedule of the tests has three delays.
      try await eventually("the delivery is given up") {
        try await api.send("GET", "webhook_endpoints/main/attempts?outcome=abandoned").list("attempts").count == 1
      }
      var attempts: [JSONValue] = []
      var cursor: String?
      repeat {
        let page = try await api.send(
          "GET", "webhook_endpoints/main/attempts?limit=3" + (cursor.map { "&cursor=\($0)" } ?? ""))
        attempts += page.list("attempts")
        cursor = page.text("nextCursor")
      } while cursor != nil
      #expect(attempts.map { $0.number("attempt") } == [4, 3, 2, 1])
      #expect(attempts.map { $0.text("outcome") } == ["abandoned", "failed", "failed", "failed"])
      for attempt in attempts {
        #expect(attempt.text("eventId") == event.id && attempt.text("endpointId") == "main")
        #expect(attempt.number("status") == 500 && attempt.number("version") == event.version)
        #expect(attempt.number("durationMilliseconds") != nil)
      }
      let byEvent = try await api.send("GET", "webhook_events/\(event.id)/attempts")
      #expect(byEvent.list("attempts") == attempts)
      // Before its first attempt an event has an empty list, like an endpoint.
      let tooLong = String(repeating: "e", count: 257)
      for path in ["webhook_events/evt_0/attempts", "webhook_events/evt_0/attempts?outcome=failed"] {
        let none = try await api.send("GET", path)
        #expect(none.status == 200 && none.body == .object(["attempts": .array([])]))
      }
      #expect(try await api.send("GET", "webhook_events/\(tooLong)/attempts").text("code") == "REQ0003")
      #expect(try await api.send("GET", "webhook_endpoints/main/attempts?outcome=lost").text("code") == "REQ0002")
      #expect(try await api.send("GET", "webhook_endpoints/main/attempts?cursor=x").text("code") == "REQ0002")
      let since = try await api.send("GET", "webhook_endpoints/main")["failingSince"]
      #expect(since != nil)
      // To enable an enabled endpoint does not prove that it works.
      #expect(try await api.send("POST", "webhook_endpoints/main/enable")["failingSince"] == since)

      fleet.webhookStatus = { _ in 200 }
      let path = "webhook_endpoints/main/recover"
      #expect(try await api.send("POST", path, "{}").text("detail") == "since: is missing")
      #expect(try await api.send("POST", path, #"{"since":"yesterday"}"#).status == 400)
      let later = try await api.send("POST", path, #"{"since":"2999-01-01T00:00:00.5+01:00"}"#)
      #expect(later.status == 202 && later["recovered"] == .integer(0))
      // The client asks twice, as if the first answer was lost.
      for _ in 0..<2 { #expect(try await api.send("POST", path, #"{"since":0}"#).status == 202) }
      try await eventually("nothing is owed any more") {
        try await api.send("POST", path, #"{"since":"2020-01-01T00:00:00Z"}"#)["recovered"] == .integer(0)
      }
      let delivered = try await api.send("GET", "webhook_endpoints/main/attempts?outcome=delivered")
      #expect(delivered.list("attempts").map { $0.text("eventId") } == [event.id])
      #expect(delivered.list("attempts").first?.number("attempt") == 1)
      // Four attempts failed. However often the client asked, one recovered the event: nothing died, and the ledger
      // has answered, so there is no reason for another one.
      #expect(fleet.webhooks.all.count == 5)
      #expect(try await api.send("GET", "webhook_endpoints/main")["failingSince"] == nil)

      let again = try await api.send("POST", "webhook_events/\(event.id)/deliveries/main/resend")
      #expect(again.status == 202 && again.text("eventId") == event.id)
      #expect(again.headers.header("location") == "/3.1/webhook_events/\(event.id)/attempts")
      let all = try await fleet.webhooks.wait(for: 6)
      #expect(all[5].id == event.id && all[5].isVerified && all[5].body == event.body)
      #expect(try await api.send("POST", "webhook_events/evt_0/deliveries/main/resend").status == 404)
      #expect(try await api.send("POST", "webhook_events/\(event.id)/deliveries/nobody/resend").status == 404)
    }
  }

  @Test func `a test event goes to its endpoint alone, signed with every secret that is valid`() async throws {
    try await with { api, receiver in
      let (id, first) = try await api.create(#""url":"\#(receiver.url("own"))","topics":["webhookEndpointDisabled"]"#)
      func tested() async throws -> (request: WebhookReceiver.Received, id: String) {
        let answer = try await api.send("POST", "webhook_endpoints/\(id)/test")
        guard answer.status == 202, let event = answer.text("eventId") else {
          throw NeverHappened(description: "the test event was not taken: \(answer.body)")
        }
        let requests = try await receiver.requests.wait { $0.contains { $0.id == event } }
        return (try #require(requests.first { $0.id == event }), event)
      }
      let (request, event) = try await tested()
      #expect(signatures(request) == [expected(request, first)])
      let body: JSONValue = try JSONText(request.request.body).decoded()
      #expect(body.text("topic") == "test" && body.number("broadcasterId") == RunningFleet.publisher.number)

      let rotated = try await api.send("POST", "webhook_endpoints/\(id)/rotate_secret", #"{"overlapSeconds":600}"#)
      let second = try #require(rotated.text("secret"))
      // The notifiers look at endpoints once a second.
      try await eventually("both secrets sign") {
        let request = try await tested().request
        return signatures(request) == [expected(request, second), expected(request, first)]
      }
      _ = try await api.send("POST", "webhook_endpoints/\(id)/rotate_secret", #"{"overlapSeconds":0}"#)
      try await eventually("one secret signs") { signatures(try await tested().request).count == 1 }
      #expect(api.fleet.webhooks.all.isEmpty)
      try await eventually("it is logged") {
        let log = try await api.send("GET", "webhook_events/\(event)/attempts").list("attempts")
        return log.map { $0.text("outcome") } == ["delivered"] && log[0].text("response") == "answer"
      }
    }
  }

  @Test func `what a disabled endpoint did not get is recovered once it is enabled`() async throws {
    try await with { api, receiver in
      let id = try await api.create(#""url":"\#(receiver.url("own"))""#).id
      #expect(try await api.send("POST", "webhook_endpoints/\(id)/disable").status == 200)
      var names: Set<String> = []
      for number in 0..<3 {
        names.insert("s-\(number)")
        #expect(try await api.fleet.register("100000000000\(number)", id: "s-\(number)").status == 202)
      }
      let events = try await api.fleet.finished(names)
      try await eventually("they are skipped") {
        try await api.send("GET", "webhook_endpoints/\(id)/attempts?outcome=skipped").list("attempts").count == 3
      }
      #expect(receiver.requests.all.isEmpty)
      #expect(try await api.send("POST", "webhook_endpoints/\(id)/enable").status == 200)
      let recovered = try await api.send("POST", "webhook_endpoints/\(id)/recover", #"{"since":0}"#)
      #expect(recovered.body == .object(["recovered": .integer(3)]))
      let requests = try await receiver.wait("own", for: 3)
      #expect(Set(requests.map(\.id)) == Set(events.map(\.id)))
      for request in requests {
        let version = events.first { $0.id == request.id }?.version
        #expect(request.request.header("countersign-version") == version.map { String($0) })
      }

      try await eventually("they are in the log") {
        try await api.send("GET", "webhook_endpoints/\(id)/attempts?outcome=delivered").list("attempts").count == 3
      }
      // A deleted endpoint gets no more webhooks, and its attempts can still be read by event.
      #expect(try await api.send("DELETE", "webhook_endpoints/\(id)").status == 204)
      let path = "webhook_events/\(events[0].id)"
      #expect(try await api.send("POST", "\(path)/deliveries/\(id)/resend").status == 404)
      #expect(try await api.send("GET", "webhook_endpoints/\(id)/attempts").status == 404)
      let left = try await api.send("GET", path + "/attempts").list("attempts")
      #expect(left.compactMap { $0.text("endpointId") }.sorted() == [id, id, "main"], "\(left)")
    }
  }

  @Test func `a publisher that asks for too much at once is told when to come again`() async throws {
    try await with { api, _ in
      var refused: WebhookAPIClient.Answer?
      for _ in 0..<1000 where refused == nil {
        let answer = try await api.send("POST", "webhook_endpoints/main/recover", #"{"since":"2999-01-01T00:00:00Z"}"#)
        if answer.status != 202 { refused = answer }
      }
      let answer = try #require(refused)
      #expect(answer.status == 429 && answer.text("code") == "LIM0007")
      #expect(answer.headers.header("retry-after") == "1")
      try await eventually("there is room again") {
        try await api.send("POST", "webhook_endpoints/main/test").status == 202
      }
    }
  }
}

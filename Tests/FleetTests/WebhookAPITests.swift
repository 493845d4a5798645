import Domain
import EventLoop
import Fleets
import Formats
import HTTP
import JSON
import ServerSupport
import Testing

@testable import Doors

/// The API that manages webhook endpoints, at running gateways.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct WebhookAPITests {
  @Test func `endpoints are created, changed, listed and deleted`() async throws {
    let scenes = [
      // The first four count endpoints, and three of them leave none.
      Scene("the documented form replaces a topic's list", replacesLists),
      Scene("an address that webhooks must not be sent to is refused", refusesAddresses),
      Scene("an endpoint of the publisher's file is shown, and changed only there", showsEndpointsOfFile),
      Scene("a list is paged, and stays whole while endpoints come and go", pagesLists),
      Scene("an endpoint from its creation to its end", leadsALife),
      Scene("of an asymmetric key only the public half is ever told", hidesPrivateKeys),
      Scene("rotations at once all take effect, and ten old secrets are the most", rotatesAtOnce),
      Scene("webhooks are their publisher's business alone", separatesPublishers),
    ]
    try await RunningFleet.with(["gateway-1", "gateway-2"]) { fleet in
      for scene in scenes { await scene.run(WebhookAPIClient(fleet: fleet)) }
    }
  }

  private func leadsALife(_ api: WebhookAPIClient) async throws {
    let created = try await api.send("POST", "webhook_endpoints", #"{"url":"https://example.com/a","name":"A"}"#)
    #expect(created.status == 201)
    let id = try #require(created.text("id"))
    #expect(created.headers.header("location") == "/3.1/webhook_endpoints/\(id)")
    #expect(created.headers.header("cache-control") == "no-store")
    let secret = try #require(created.text("secret"))
    #expect(secret.hasPrefix("whsec_"))
    #expect(created["enabled"] == .bool(true))
    #expect(created["retryPolicy", "enabled"] == .bool(true))

    let path = "webhook_endpoints/\(id)"
    let read = try await api.send("GET", path, gateway: "gateway-2")
    #expect(read.status == 200)
    #expect(read["secret"] == nil && read.text("createdAt") == created.text("createdAt"))
    #expect(try await api.send("HEAD", path).status == 200)

    let changed = try await api.send(
      "PATCH", path,
      #"{"maxPerSecond":5,"retryPolicy":{"enabled":false},"topics":["webhookEndpointDisabled"]}"#,
      gateway: "gateway-2")
    #expect(changed.status == 200)
    #expect(changed["maxPerSecond"] == .integer(5) && changed.text("name") == "A")
    #expect(try await api.send("GET", path).body == changed.body)

    let rotated = try await api.send("POST", path + "/rotate_secret", #"{"overlapSeconds":600}"#)
    #expect(rotated.status == 200)
    #expect(rotated.text("secret")?.hasPrefix("whsec_") == true && rotated.text("secret") != secret)
    #expect(rotated.list("oldSecretsExpireAt").count == 1)
    let given = "whsec_" + String(repeating: "A", count: 43) + "="
    for _ in 0..<2 {
      let same = try await api.send(
        "POST", path + "/rotate_secret", #"{"overlapSeconds":0,"secret":"\#(given)"}"#)
      #expect(same.text("secret") == given && same["oldSecretsExpireAt"] == nil)
    }

    let off = try await api.send("POST", path + "/disable")
    #expect(off["enabled"] == .bool(false) && off.text("disabledReason") == "request")
    #expect(try await api.send("POST", path + "/disable").text("disabledAt") == off.text("disabledAt"))
    for replay in ["test", "recover"] {
      let refused = try await api.send("POST", "\(path)/\(replay)", #"{"since":0}"#)
      #expect(refused.status == 409 && refused.text("code") == "REQ0409")
    }
    let on = try await api.send("POST", path + "/enable", gateway: "gateway-2")
    #expect(on["enabled"] == .bool(true) && on["disabledReason"] == nil)

    #expect(try await api.send("DELETE", path).status == 204)
    #expect(try await api.send("DELETE", path).status == 404)
    for (method, tail) in [
      ("GET", ""), ("PATCH", ""), ("POST", "/enable"), ("POST", "/disable"), ("POST", "/rotate_secret"),
      ("POST", "/test"), ("GET", "/attempts"), ("POST", "/recover"),
    ] {
      let body = method == "GET" ? nil : tail == "/recover" ? #"{"since":0}"# : "{}"
      #expect(try await api.send(method, path + tail, body).status == 404, "\(method) \(tail)")
    }
    for text in [secret, given] {
      for name in ["gateway-1", "gateway-2"] { #expect(!api.fleet.log(name).contains(text)) }
    }
  }

  private func hidesPrivateKeys(_ api: WebhookAPIClient) async throws {
    let created = try await api.send(
      "POST", "webhook_endpoints", #"{"url":"https://example.com","signature":"v1a"}"#)
    #expect(created.status == 201 && created["secret"] == nil)
    let first = try #require(created.text("publicKey"))
    #expect(first.hasPrefix("whpk_"))
    let path = "webhook_endpoints/\(created.text("id") ?? "")"
    #expect(try await api.send("GET", path).text("publicKey") == first)
    let rotated = try await api.send("POST", path + "/rotate_secret")
    #expect(rotated["secret"] == nil && rotated.text("publicKey") != first)
    let refused = try await api.send("POST", path + "/rotate_secret", #"{"secret":"whsec_AAAA"}"#)
    #expect(refused.status == 400 && refused.text("detail")?.hasPrefix("secret: expected whsk_") == true)
  }

  private func rotatesAtOnce(_ api: WebhookAPIClient) async throws {
    let path = "webhook_endpoints/\(try await api.create(#""url":"https://example.com""#).id)/rotate_secret"
    let rotations = (0..<10).map { number in
      Task { @LoopActor in
        try await api.send("POST", path, #"{"overlapSeconds":600}"#, gateway: "gateway-\(number % 2 + 1)")
      }
    }
    var secrets: Set<String> = []
    for rotation in rotations { secrets.insert(try await rotation.value.text("secret") ?? "") }
    #expect(secrets.count == 10 && !secrets.contains(""))
    let more = try await api.send("POST", path, #"{"overlapSeconds":600}"#)
    #expect(more.status == 409 && more.text("detail")?.hasPrefix("10 old secrets") == true)
    #expect(try await api.send("POST", path, #"{"overlapSeconds":0}"#)["oldSecretsExpireAt"] == nil)
  }

  private func refusesAddresses(_ api: WebhookAPIClient) async throws {
    // The fleet of the tests allows http and loopback, and no other exception.
    for url in [
      "https://169.254.169.254/latest", "http://10.0.0.1/", "https://[::ffff:10.0.0.1]/", "https://[fd00::1]/",
      "https://0.0.0.0/", "https://user@example.com/", "https://2130706433/",
    ] {
      let refused = try await api.send("POST", "webhook_endpoints", #"{"url":"\#(url)"}"#)
      #expect(refused.status == 400 && refused.text("detail")?.hasPrefix("url: ") == true, "\(url)")
      let list = try await api.send("PUT", "webhook_subscriptions/inappPurchaseSyncResult", #"[{"url":"\#(url)"}]"#)
      #expect(list.status == 400 && list.text("detail")?.hasPrefix("[0].url: ") == true, "\(url)")
    }
  }

  private func pagesLists(_ api: WebhookAPIClient) async throws {
    var ids: [String] = []
    for number in 0..<7 { ids.append(try await api.create(#""url":"https://example.com/\#(number)""#).id) }
    #expect(try await api.send("GET", "webhook_endpoints").list("endpoints").count == 8)

    var seen: [String] = []
    var cursor: String?
    repeat {
      let query = cursor.map { "&cursor=\($0)" } ?? ""
      let page = try await api.send("GET", "webhook_endpoints?limit=3" + query)
      #expect(page.status == 200)
      seen += page.list("endpoints").compactMap { $0.text("id") }
      cursor = page.text("nextCursor")
      // This deletes the endpoint that ended the page.
      if seen.count == 3, let last = seen.last { _ = try await api.send("DELETE", "webhook_endpoints/\(last)") }
    } while cursor != nil
    #expect(Set(seen) == Set(ids + ["main"]))
    #expect(seen.count == 8 && seen[0] == "main")

    for query in ["limit=0", "limit=251", "cursor=x", "page=2", "limit=1&limit=2"] {
      let refused = try await api.send("GET", "webhook_endpoints?" + query)
      #expect(refused.status == 400 && refused.text("code") == "REQ0002", "\(query)")
    }
  }

  private func replacesLists(_ api: WebhookAPIClient) async throws {
    let path = "webhook_subscriptions/inappPurchaseSyncResult"
    #expect(try await api.send("GET", path).body == .array([]))
    let own = #"{"name":"HMAC","options":{"hashAlg":"SHA256","sharedSecret":"0123456789abcdef"}}"#
    let first = try await api.send(
      "PUT", path,
      #"[{"url":"https://a.example.com"},{"url":"https://b.example.com","verification":\#(own)}]"#)
    #expect(first.status == 200)
    #expect(first["0", "signingSecret"] != nil && first["1", "signingSecret"] == nil)
    let again = try await api.send("PUT", path, #"[{"url":"https://a.example.com"},{"url":"https://c.example.com"}]"#)
    #expect(again["0", "id"] == first["0", "id"] && again["0", "signingSecret"] == nil)
    #expect(again["1", "signingSecret"] != nil)
    let listed = try await api.send("GET", path)
    #expect(listed.list().count == 2)
    let id = try #require(listed.list()[0].text("id"))
    #expect(try await api.send("GET", "webhook_endpoints/\(id)").text("source") == "subscription")
    let moved = try await api.send("PATCH", "webhook_endpoints/\(id)", #"{"url":"https://d.example.com"}"#)
    #expect(moved.status == 409)
    #expect(try await api.send("PUT", path, "[]").body == .array([]))
    #expect(try await api.send("GET", "webhook_endpoints").list("endpoints").count == 1)
    for (topic, nearest) in [
      ("inappPurchaseSyncResults", "; did you mean inappPurchaseSyncResult?"), ("test", ""), ("a%20b", ""),
    ] {
      for (method, body) in [("GET", nil), ("PUT", "[]")] as [(String, String?)] {
        let refused = try await api.send(method, "webhook_subscriptions/\(topic)", body)
        #expect(refused.status == 400 && refused.text("code") == "REQ0003", "\(method) \(topic)")
        let known = DoorRegistry.catalog.topics.map(\.text).joined(separator: " or ")
        #expect(
          refused.text("detail")
            == "topic: \"\(topic.replacing("%20", with: " "))\" is not known; expected \(known)\(nearest)")
      }
    }
    #expect(try await api.send("PUT", path, "{}").text("detail") == "expected a JSON array of endpoints")
  }

  private func showsEndpointsOfFile(_ api: WebhookAPIClient) async throws {
    let read = try await api.send("GET", "webhook_endpoints/main")
    #expect(read.text("source") == "configuration" && read["secret"] == nil)
    for (method, tail) in [("PATCH", ""), ("DELETE", ""), ("POST", "/disable"), ("POST", "/rotate_secret")] {
      let refused = try await api.send(method, "webhook_endpoints/main" + tail, "{}")
      #expect(refused.status == 409 && refused.text("code") == "REQ0409", "\(method) \(tail)")
    }
    #expect(try await api.send("POST", "webhook_endpoints/main/enable").status == 200)
    #expect(
      try await api.send("GET", "webhook_endpoints/main/attempts").body == .object(["attempts": .array([])]))
  }

  private func separatesPublishers(_ api: WebhookAPIClient) async throws {
    let id = try await api.create(#""url":"https://example.com/a""#).id
    let other = WebhookAPIClient(fleet: api.fleet, publisher: RunningFleet.openPublisher)
    #expect(try await other.send("GET", "webhook_endpoints").body == .object(["endpoints": .array([])]))
    for (method, tail) in [("GET", ""), ("DELETE", ""), ("POST", "/enable"), ("GET", "/attempts")] {
      #expect(try await other.send(method, "webhook_endpoints/\(id)\(tail)").status == 404, "\(method) \(tail)")
    }
    let token = jwt(customer: 7, publisher: RunningFleet.publisher)
    let customer = [(name: "Authorization", value: "Bearer \(token)"), ("Content-Type", "application/json")]
    for (method, path) in [
      ("GET", "webhook_endpoints"), ("POST", "webhook_endpoints"), ("GET", "webhook_endpoints/\(id)"),
      ("PUT", "webhook_subscriptions/t"), ("GET", "webhook_events/e/attempts"),
      ("POST", "webhook_events/e/deliveries/main/resend"),
    ] {
      let refused = try await api.send(method, path, headers: customer)
      #expect(refused.status == 403 && refused.text("code") == "AUTH0003", "\(method) \(path)")
      #expect(try await api.send(method, path, headers: []).status == 401)
    }
  }
}

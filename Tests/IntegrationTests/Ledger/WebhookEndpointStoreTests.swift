import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

@testable import Doors

/// Webhook endpoints and their health in a real ledger.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct WebhookEndpointStoreTests {
  private func with(
    _ body: @LoopActor (WebhookEndpointStore, PostgresClient) async throws -> Void
  ) async throws {
    try await LedgerDatabase.migrated { ledger in
      try await body(WebhookEndpointStore(ledger, doors: DoorRegistry.catalog), ledger)
    }
  }

  private func endpoint(_ id: EndpointId = "ep_a", _ url: String = "https://example.com/hook") -> WebhookEndpoint {
    WebhookEndpoint(id: id, url: url, topics: ["t"], secrets: [.init(key: [1, 2, 3])])
  }

  private func created(
    _ store: WebhookEndpointStore, _ endpoint: WebhookEndpoint, publisher: PublisherId = 1
  ) async throws -> WebhookEndpoint {
    guard case .created(let kept) = try await store.create(publisher, endpoint) else {
      throw NeverHappened(description: "the endpoint was not created")
    }
    return kept
  }

  private func list(_ store: WebhookEndpointStore, _ publisher: PublisherId = 1) async throws -> [WebhookEndpoint] {
    try #require(try await store.endpoints(publisher)).endpoints
  }

  @Test func `what was created is read as it was, and only by its publisher`() async throws {
    try await with { (store, _) async throws in
      let full = WebhookEndpoint(
        id: "ep_full", url: "https://example.com/\u{e9}?q=\"x\"", name: "Name \"é\"", topics: ["a", "b"],
        format: .mbaasy, signature: .v1,
        secrets: [.init(key: [0, 255]), .init(key: [1], expiresAt: 1_795_237_635_563)],
        retry: .schedule([.seconds(1), .milliseconds(1500)]), maxConcurrency: 3, maxPerSecond: 7,
        acceptsSelfSigned: true, environment: .sandbox, paymentMethodId: 12)
      let kept = try await created(store, full)
      #expect(kept.createdAt > 1_600_000_000_000 && kept.updatedAt == kept.createdAt)
      #expect(try await store.endpoint(1, "ep_full") == kept)
      let plain = try await created(store, endpoint())
      #expect(try await list(store) == [kept, plain].sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) })
      #expect(try await store.endpoint(2, "ep_full") == nil)
      #expect(try await list(store, 2).isEmpty)
      // A creation that runs again finds its own work.
      #expect(try await created(store, full) == kept)
    }
  }

  @Test func `a snapshot has another version after each change, and none comes without one`() async throws {
    try await with { (store, ledger) async throws in
      var versions = [try #require(try await store.endpoints(1)).version]
      func changes(_ what: String, _ body: () async throws -> Void) async throws {
        try await body()
        let snapshot = try #require(try await store.endpoints(1, since: versions.last), "\(what)")
        versions.append(snapshot.version)
        #expect(try await store.endpoints(1, since: snapshot.version) == nil, "\(what)")
      }
      try await changes("create") { _ = try await created(store, endpoint()) }
      try await changes("change") { _ = try await store.change(1, "ep_a") { endpoint, _ in endpoint.name = "x" } }
      try await changes("replace") {
        var own = endpoint("ep_b")
        own.source = .subscription
        _ = try await store.replace(1, topic: "t", with: [.init(endpoint: own, hasOwnKey: false)])
      }
      try await changes("empty") { _ = try await store.replace(1, topic: "t", with: []) }
      try await changes("disable") { _ = try await store.disable(1, "ep_a") }
      try await changes("enable") { _ = try await store.enable(1, "ep_a") }
      try await changes("delete") { _ = try await store.delete(1, "ep_a") }
      #expect(Set(versions).count == versions.count)

      _ = try await created(store, endpoint())
      _ = try await store.disable(1, "ep_a")
      let last = try #require(try await store.endpoints(1)).version
      _ = try await store.disable(1, "ep_a")
      _ = try await store.enable(1, "file", isConfigured: true)
      _ = try await store.change(1, "ep_a") { _, _ in }
      _ = try await store.replace(1, topic: "t", with: [])
      #expect(try await store.endpoints(1, since: last) == nil)
      // An older state of the ledger was restored.
      for table in ["webhook_endpoints", "webhook_revisions"] { try await ledger.execute("DELETE FROM \(table)") }
      #expect(try await store.endpoints(1, since: last)?.endpoints.isEmpty == true)
    }
  }

  @Test func `a snapshot says who is disabled, of the API and of a file`() async throws {
    try await with { (store, ledger) async throws in
      for id: EndpointId in ["ep_a", "ep_b"] { _ = try await created(store, endpoint(id)) }
      _ = try await store.disable(1, "ep_b")
      try await ledger.execute("INSERT INTO webhook_health VALUES (1, 'file', NULL, now(), 'gone')")
      try await ledger.execute("INSERT INTO webhook_health VALUES (1, 'other', now())")
      #expect(try await store.endpoints(1)?.disabled == ["ep_b"])
      let all = try #require(try await store.endpoints(1, configured: ["file", "other"]))
      #expect(all.disabled == ["ep_b", "file"])
      #expect(all.endpoints.count == 2)
    }
  }

  @Test func `an endpoint that cannot be read is an error, and can be deleted`() async throws {
    try await with { (store, ledger) async throws in
      for id: EndpointId in ["ep_a", "ep_b"] { _ = try await created(store, endpoint(id)) }
      let broken: [(column: String, value: String)] = [
        ("format", "of tomorrow"), ("secrets", #"[{"key":"%"}]"#), ("retry", "soon"), ("source", "elsewhere"),
      ]
      for (column, value) in broken {
        try await ledger.execute(
          "CREATE TABLE kept AS SELECT \(column) AS old FROM webhook_endpoints WHERE id = 'ep_b'")
        try await ledger.execute("UPDATE webhook_endpoints SET \(column) = '\(value)' WHERE id = 'ep_b'")
        await #expect(throws: UnreadableRecord.self, "\(column)") { _ = try await store.endpoints(1) }
        await #expect(throws: UnreadableRecord.self, "\(column)") { _ = try await store.endpoint(1, "ep_b") }
        await #expect(throws: UnreadableRecord.self, "\(column)") { _ = try await store.change(1, "ep_b") { _, _ in } }
        try await ledger.execute("UPDATE webhook_endpoints SET \(column) = old FROM kept WHERE id = 'ep_b'")
        try await ledger.execute("DROP TABLE kept")
      }
      #expect(try await list(store).count == 2)
      try await ledger.execute("UPDATE webhook_endpoints SET format = 'x' WHERE id = 'ep_b'")
      #expect(try await store.delete(1, "ep_b"))
      #expect(try await list(store).map(\.id) == ["ep_a"])
    }
  }

  @Test func `no change undoes another`() async throws {
    try await with { (store, _) async throws in
      let kept = try await created(store, endpoint())
      let changes = (0..<20).map { number in
        Task { @LoopActor in
          try await store.change(1, "ep_a") { endpoint, now in
            #expect(now >= kept.createdAt)
            endpoint.topics.append(EventTopic(String(number)))
          }
        }
      }
      for change in changes { _ = try await change.value }
      let found = try #require(try await store.endpoint(1, "ep_a"))
      #expect(Set(found.topics) == Set(["t"] + (0..<20).map { EventTopic(String($0)) }))
      #expect(found.topics.count == 21)

      struct Refused: Error {}
      await #expect(throws: Refused.self) {
        _ = try await store.change(1, "ep_a") { endpoint, _ in
          endpoint.name = "no"
          throw Refused()
        }
      }
      #expect(try await store.endpoint(1, "ep_a") == found)
      #expect(try await store.change(1, "ep_b") { _, _ in } == nil)
    }
  }

  @Test func `who is deleted while it is changed is deleted afterwards`() async throws {
    try await with { (store, _) async throws in
      _ = try await created(store, endpoint())
      var deletion: Task<Bool, any Error>?
      let changed = try await store.change(1, "ep_a") { endpoint, _ in
        endpoint.name = "x"
        deletion = Task.immediate { @LoopActor in try await store.delete(1, "ep_a") }
      }
      #expect(changed?.name == "x")
      #expect(try await deletion?.value == true)
      #expect(try await store.endpoint(1, "ep_a") == nil)
      #expect(try await store.delete(1, "ep_a") == false)
      #expect(try await store.change(1, "ep_a") { _, _ in } == nil)
    }
  }

  @Test func `a thousand endpoints are the most, and the limit is a publisher's own`() async throws {
    try await with { (store, ledger) async throws in
      _ = try await created(store, endpoint("ep_0"))
      try await ledger.execute(
        """
        INSERT INTO webhook_endpoints SELECT publisher_id, 'ep_' || number, revision, url, name, topics, format,
          signature, secrets, retry, payment_method_id, max_concurrency, max_per_second, accepts_self_signed, source,
          put_key, created_at, updated_at
        FROM webhook_endpoints, generate_series(1, \(WebhookEndpointStore.limit - 2)) AS number
        """)
      let attempts = (0..<5).map { number in
        Task { @LoopActor in try await store.create(1, endpoint("ep_last_\(number)")) }
      }
      var full = 0
      for attempt in attempts where try await attempt.value == .full { full += 1 }
      #expect(full == 4)
      #expect(try await list(store).count == WebhookEndpointStore.limit)
      var own = endpoint("ep_s", "https://example.com/s")
      own.source = .subscription
      #expect(try await store.replace(1, topic: "t", with: [.init(endpoint: own, hasOwnKey: false)]) == .full)
      #expect(try await list(store).count == WebhookEndpointStore.limit)
      _ = try await created(store, endpoint("ep_0"), publisher: 2)
      #expect(try await store.delete(1, "ep_5"))
      _ = try await created(store, endpoint("ep_more"))
    }
  }

  @Test func `health is read, switched off and on, and goes with the endpoint`() async throws {
    try await with { (store, ledger) async throws in
      _ = try await created(store, endpoint())
      #expect(try await store.health(1, ["ep_a", "file"]) == [EndpointHealth(), EndpointHealth()])
      #expect(try await store.disable(1, "ep_a"))
      let first = try await store.health(1, ["ep_a"])
      #expect(first[0].disabled?.reason == .request)
      #expect(first[0].disabled?.at ?? 0 > 1_600_000_000_000)
      // Once more changes nothing: the time of the disabling stays the same.
      #expect(try await store.disable(1, "ep_a"))
      #expect(try await store.health(1, ["ep_a"]) == first)

      try await ledger.execute(
        """
        INSERT INTO webhook_health VALUES
          (1, 'file', to_timestamp(0.005), to_timestamp(0.009), 'failing')
        """)
      let both = try await store.health(1, ["file", "ep_a"])
      #expect(both[0] == EndpointHealth(disabled: .init(reason: .failing, at: 9), failingSince: 5))
      #expect(both[1] == first[0])
      #expect(try await store.enable(1, "ep_a"))
      #expect(try await store.enable(1, "file", isConfigured: true))
      #expect(try await store.health(1, ["file", "ep_a"]) == [EndpointHealth(), EndpointHealth()])
      #expect(try await store.enable(1, "file") == false)
      // An endpoint that is already enabled keeps its failures.
      try await ledger.execute("INSERT INTO webhook_health VALUES (1, 'ep_a', to_timestamp(0.005))")
      #expect(try await store.enable(1, "ep_a"))
      #expect(try await store.health(1, ["ep_a"]) == [EndpointHealth(failingSince: 5)])
      #expect(try await store.disable(1, "nobody") == false)

      #expect(try await store.disable(1, "ep_a"))
      #expect(try await store.delete(1, "ep_a"))
      #expect(try await store.health(1, ["ep_a"]) == [EndpointHealth()])
    }
  }

  @Test func `an endpoint is disabled once, in one commit with its event`() async throws {
    try await with { (store, ledger) async throws in
      let kept = try await created(store, endpoint())
      // It has not failed since anybody looked.
      #expect(try await store.disable(1, kept, .failing, audience: []).taken() == nil)
      try await ledger.execute("INSERT INTO webhook_health VALUES (1, 'ep_a', to_timestamp(0.005))")
      let version = try await store.endpoints(1)?.version
      let event = try #require(try await store.disable(1, kept, .failing, audience: []).taken()?.first)
      #expect(event.topic == "webhookEndpointDisabled" && event.publisherId == 1)
      let body = String(decoding: event.body, as: UTF8.self)
      #expect(body.contains(#""failingSince":"1970-01-01T00:00:00.005Z""#) && body.contains(#""reason":"failing""#))
      #expect(try await store.endpoints(1, since: version)?.disabled == ["ep_a"])
      #expect(try await store.disable(1, kept, .gone, audience: []).taken() == nil)
      #expect(try await ledger.texts("SELECT event_id FROM outbox") == [event.id.text])
      #expect(try await ledger.texts("SELECT event_id || '/' || endpoint_id FROM deliveries") == [event.id.text + "/"])
      let found = try await ledger.run(Event.read([event.id]))
      #expect(try Event.all(found) == [event])
      #expect(try await store.delete(1, "ep_a"))
      #expect(try await store.disable(1, kept, .gone, audience: []).taken() == nil)
      // An endpoint of a file is in no table.
      var own = endpoint("file")
      own.source = .configuration
      #expect(try await store.disable(1, own, .gone, audience: [1]).taken()?.first?.topic == "webhookEndpointDisabled")
    }
  }

  @Test func `every change has an entry in the audit, without a secret and without the address`() async throws {
    try await with { (store, ledger) async throws in
      _ = try await created(store, endpoint("ep_a", "https://example.com/?token=S3CRET"))
      _ = try await store.change(1, "ep_a") { endpoint, now in
        endpoint.name = "x"
        _ = endpoint.rotate(to: Array("S3CRET-of-its-own".utf8), overlap: 0, now: now)
      }
      // What changes nothing is not told.
      _ = try await store.change(1, "ep_a") { _, _ in }
      for _ in 0..<2 { _ = try await store.disable(1, "ep_a") }
      for _ in 0..<2 { _ = try await store.enable(1, "ep_a") }
      var own = endpoint("ep_b")
      own.source = .subscription
      _ = try await store.replace(1, topic: "t", with: [.init(endpoint: own, hasOwnKey: true)])
      own.retry = .never
      _ = try await store.replace(1, topic: "t", with: [.init(endpoint: own, hasOwnKey: true)])
      _ = try await store.replace(1, topic: "t", with: [])
      for _ in 0..<2 { _ = try await store.delete(1, "ep_a") }
      #expect(
        try await ledger.texts("SELECT action || ' ' || subject FROM audit WHERE publisher_id = 1 ORDER BY id") == [
          "endpoint.created ep_a", "endpoint.changed ep_a", "endpoint.disabled ep_a", "endpoint.enabled ep_a",
          "endpoint.created ep_b", "endpoint.changed ep_b", "endpoint.deleted ep_b", "endpoint.deleted ep_a",
        ])
      let details = try await ledger.texts("SELECT convert_from(detail, 'UTF8') FROM audit ORDER BY id")
      #expect(details[1] == #"{"members":"name secrets"}"#)
      #expect(!details.contains { $0.contains("S3CRET") })
    }
  }
}

import Domain
import EventLoop
import Formats
import Harness
import Ledger
import Redis
import TestSupport
import Testing

/// The scripts for webhook endpoints, each against a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct WebhookEndpointStoreTests {
  private func with(
    connections: Int = 4, _ body: @LoopActor (WebhookEndpointStore, RedisClient, String) async throws -> Void
  ) async throws {
    var server = TestServers.current!.redis
    server.connections = connections
    let redis = RedisClient(server)
    redis.start()
    try await eventually("ready") { redis.isReady }
    let prefix = "test-\(UInt64.random(in: 0...UInt64.max)):"
    try await body(WebhookEndpointStore(redis, prefix: prefix), redis, prefix)
    for key in try await redis.send(["KEYS", prefix + "*"]).array ?? [] {
      _ = try await redis.send(["DEL", key.string ?? ""])
    }
    await redis.stop()
  }

  private func endpoint(_ id: String = "ep_a", _ url: String = "https://example.com/hook") -> WebhookEndpoint {
    WebhookEndpoint(id: id, url: url, topics: ["t"], secrets: [.init(key: [1, 2, 3])])
  }

  private func created(
    _ store: WebhookEndpointStore, _ endpoint: WebhookEndpoint, publisher: Int64 = 1
  ) async throws -> WebhookEndpoint {
    guard case .created(let kept) = try await store.create(publisher, endpoint) else {
      throw NeverHappened(description: "the endpoint was not created")
    }
    return kept
  }

  private func list(_ store: WebhookEndpointStore, _ publisher: Int64 = 1) async throws -> [WebhookEndpoint] {
    try #require(try await store.endpoints(publisher)).endpoints
  }

  @Test func `what was created is read as it was, and only by its publisher`() async throws {
    try await with { (store, _, _) async throws in
      let full = WebhookEndpoint(
        id: "ep_full", url: "https://example.com/\u{e9}?q=\"x\"", name: "Name \"é\"", topics: ["a", "b"],
        format: .mbaasy, signature: .v1,
        secrets: [.init(key: [0, 255]), .init(key: [1], expiresAt: 1_795_237_635_563)],
        retry: .schedule([.seconds(1), .milliseconds(1500)]), maxConcurrency: 3, maxPerSecond: 7,
        acceptsSelfSigned: true, paymentMethodId: 12)
      let kept = try await created(store, full)
      #expect(kept.createdAt > 1_600_000_000_000 && kept.updatedAt == kept.createdAt)
      #expect(try await store.endpoint(1, "ep_full") == kept)
      let plain = try await created(store, endpoint())
      #expect(try await list(store) == [kept, plain].sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) })
      #expect(try await store.endpoint(2, "ep_full") == nil)
      #expect(try await list(store, 2).isEmpty)
      // A script that runs again finds its own work.
      #expect(try await created(store, full) == kept)
    }
  }

  @Test func `a snapshot has another version after each change, and none comes without one`() async throws {
    try await with { (store, redis, prefix) async throws in
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
      // Redis has lost everything.
      for key in ["webhooks:1", "webhooks-version:1"] { _ = try await redis.send(["DEL", prefix + key]) }
      #expect(try await store.endpoints(1, since: last)?.endpoints.isEmpty == true)
    }
  }

  @Test func `a snapshot says who is disabled, of the API and of a file`() async throws {
    try await with { (store, redis, prefix) async throws in
      for id in ["ep_a", "ep_b"] { _ = try await created(store, endpoint(id)) }
      _ = try await store.disable(1, "ep_b")
      _ = try await redis.send([
        "HSET", prefix + "webhook-health:1:file", "disabled_reason", "gone", "disabled_at", "9",
      ])
      _ = try await redis.send(["HSET", prefix + "webhook-health:1:other", "failing_since", "9"])
      #expect(try await store.endpoints(1)?.disabled == ["ep_b"])
      let all = try #require(try await store.endpoints(1, configured: ["file", "other"]))
      #expect(all.disabled == ["ep_b", "file"])
      #expect(all.endpoints.count == 2)
    }
  }

  @Test func `an endpoint that cannot be read is an error, and can be deleted`() async throws {
    try await with { (store, redis, prefix) async throws in
      for id in ["ep_a", "ep_b"] { _ = try await created(store, endpoint(id)) }
      let broken: [(field: String, value: String)] = [
        ("format", "of tomorrow"), ("secrets", #"[{"key":"%"}]"#), ("retry", "soon"), ("revision", ""),
      ]
      for (field, value) in broken {
        let old = try await redis.send(["HGET", prefix + "webhook:1:ep_b", field]).string ?? ""
        _ = try await redis.send(
          value.isEmpty
            ? ["HDEL", prefix + "webhook:1:ep_b", field] : ["HSET", prefix + "webhook:1:ep_b", field, value])
        await #expect(throws: RedisError.self, "\(field)") { _ = try await store.endpoints(1) }
        await #expect(throws: RedisError.self, "\(field)") { _ = try await store.endpoint(1, "ep_b") }
        await #expect(throws: RedisError.self, "\(field)") { _ = try await store.change(1, "ep_b") { _, _ in } }
        _ = try await redis.send(["HSET", prefix + "webhook:1:ep_b", field, old])
      }
      #expect(try await list(store).count == 2)
      _ = try await redis.send(["HDEL", prefix + "webhook:1:ep_b", "url"])
      #expect(try await store.delete(1, "ep_b"))
      #expect(try await list(store).map(\.id) == ["ep_a"])
      // The endpoint is listed, but has no record: no reader may take it for deleted.
      _ = try await redis.send(["DEL", prefix + "webhook:1:ep_a"])
      await #expect(throws: RedisError.self) { _ = try await store.endpoints(1) }
    }
  }

  @Test func `no change undoes another`() async throws {
    try await with { (store, _, _) async throws in
      let kept = try await created(store, endpoint())
      let changes = (0..<20).map { number in
        Task { @LoopActor in
          try await store.change(1, "ep_a") { endpoint, now in
            #expect(now >= kept.createdAt)
            endpoint.topics.append(String(number))
          }
        }
      }
      for change in changes { _ = try await change.value }
      let found = try #require(try await store.endpoint(1, "ep_a"))
      #expect(Set(found.topics) == Set(["t"] + (0..<20).map { String($0) }))
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

  @Test func `who is deleted while it is changed stays deleted`() async throws {
    // One connection keeps the order: it sends the deletion before the change.
    try await with(connections: 1) { (store, redis, prefix) async throws in
      _ = try await created(store, endpoint())
      var deletion: Task<Bool, any Error>?
      let changed = try await store.change(1, "ep_a") { endpoint, _ in
        endpoint.name = "x"
        deletion = Task.immediate { @LoopActor in try await store.delete(1, "ep_a") }
      }
      #expect(try await deletion?.value == true)
      #expect(changed == nil)
      #expect(try await redis.send(["EXISTS", prefix + "webhook:1:ep_a"]).integer == 0)
      #expect(try await store.delete(1, "ep_a") == false)
      #expect(try await list(store).isEmpty)
    }
  }

  @Test func `a thousand endpoints are the most, and the limit is a publisher's own`() async throws {
    try await with { (store, _, _) async throws in
      for number in 0..<WebhookEndpointStore.limit - 1 { _ = try await created(store, endpoint("ep_\(number)")) }
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
    try await with { (store, redis, prefix) async throws in
      _ = try await created(store, endpoint())
      #expect(try await store.health(1, ["ep_a", "file"]) == [EndpointHealth(), EndpointHealth()])
      #expect(try await store.disable(1, "ep_a"))
      let first = try await store.health(1, ["ep_a"])
      #expect(first[0].disabled?.reason == .request)
      #expect(first[0].disabled?.at ?? 0 > 1_600_000_000_000)
      // Once more changes nothing: the time of the disabling stays the same.
      #expect(try await store.disable(1, "ep_a"))
      #expect(try await store.health(1, ["ep_a"]) == first)

      _ = try await redis.send([
        "HSET", prefix + "webhook-health:1:file", "disabled_reason", "failing", "disabled_at", "9", "failing_since",
        "5",
      ])
      let both = try await store.health(1, ["file", "ep_a"])
      #expect(both[0] == EndpointHealth(disabled: .init(reason: .failing, at: 9), failingSince: 5))
      #expect(both[1] == first[0])
      #expect(try await store.enable(1, "ep_a"))
      #expect(try await store.enable(1, "file", isConfigured: true))
      #expect(try await store.health(1, ["file", "ep_a"]) == [EndpointHealth(), EndpointHealth()])
      #expect(try await store.enable(1, "file") == false)
      // An endpoint that is already enabled keeps its failures.
      _ = try await redis.send(["HSET", prefix + "webhook-health:1:ep_a", "failing_since", "5"])
      #expect(try await store.enable(1, "ep_a"))
      #expect(try await store.health(1, ["ep_a"]) == [EndpointHealth(failingSince: 5)])
      #expect(try await store.disable(1, "nobody") == false)

      #expect(try await store.disable(1, "ep_a"))
      #expect(try await store.delete(1, "ep_a"))
      #expect(try await redis.send(["KEYS", prefix + "webhook-health:*"]).array == [])
    }
  }
}

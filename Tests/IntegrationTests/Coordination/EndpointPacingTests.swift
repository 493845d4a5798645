import AMQP
import Coordination
import Domain
import EventLoop
import Fleets
import Ledger
import Redis
import ServerSupport
import TestSupport
import Testing

/// The limits of endpoints in a real Redis: attempts at a time, and in a second.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct EndpointPacingTests {
  private let hour: Duration = .seconds(3600)

  private func with(_ body: @LoopActor (EndpointPacing, RedisClient, String) async throws -> Void) async throws {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("ready") { redis.isReady }
    let prefix = "test-\(UInt64.random(in: 0...UInt64.max)):"
    try await body(EndpointPacing(redis, prefix: prefix), redis, prefix)
    for key in try await redis.send(["KEYS", prefix + "*"]).array ?? [] {
      _ = try await redis.send(["DEL", key.string ?? ""])
    }
    await redis.stop()
  }

  private func delivery(_ event: EventId = "evt_1", attempt: Int = 1, round: DeliveryRound = .first) throws -> Delivery
  {
    let body = #"{"broadcasterId":1,"topic":"t","data":{"synchronizationId":"s","name":"Zoë \"\u00e9\n"}}"#
    var delivery = try Delivery(
      eventId: event, endpointId: nil, round: round,
      headers: ["version": 7, "traceparent": "trace", "cloudEvents_id": .string(event.text)], body: Array(body.utf8))
    delivery.attempt = attempt
    return delivery
  }

  private func endpoint(
    _ id: EndpointId = "main", concurrency: Int = 10, perSecond: Int? = nil,
    source: WebhookEndpoint.Source = .configuration
  ) -> WebhookEndpoint {
    WebhookEndpoint(
      id: id, url: "https://example.com", topics: ["t"], secrets: [], maxConcurrency: concurrency,
      maxPerSecond: perSecond, source: source)
  }

  private func begin(
    _ store: EndpointPacing, _ delivery: Delivery, _ endpoint: WebhookEndpoint
  ) async throws -> AttemptSlot {
    try await store.take(delivery, at: endpoint, lease: .seconds(60)).slot
  }

  @Test func `an attempt has one slot, whoever asks again`() async throws {
    try await with { (store, _, _) async throws in
      #expect(try await begin(store, delivery(), endpoint()) == .taken)
      #expect(try await begin(store, delivery(), endpoint()) == .underWay)
      #expect(try await begin(store, delivery(), endpoint("other")) == .taken)
      #expect(try await begin(store, delivery(attempt: 2), endpoint()) == .taken)
      #expect(try await begin(store, delivery(round: "r"), endpoint()) == .taken)
      try await store.release(delivery(), at: "main")
      let (slot, now) = try await store.take(delivery(), at: endpoint(), lease: hour)
      #expect(slot == .taken && now > 1_600_000_000_000)
    }
  }

  @Test func `the fleet makes as many attempts at a time as the endpoint allows`() async throws {
    try await with { (store, redis, prefix) async throws in
      let narrow = endpoint(concurrency: 2)
      #expect(try await begin(store, delivery("a"), narrow) == .taken)
      #expect(try await begin(store, delivery("b"), narrow) == .taken)
      #expect(try await begin(store, delivery("c"), narrow) == .full)
      try await store.release(delivery("a"), at: "main")
      #expect(try await begin(store, delivery("c"), narrow) == .taken)
      try await store.release(delivery("b"), at: "main")
      #expect(try await begin(store, delivery("d"), narrow) == .taken)
      // The slots of a killed notifier become free by themselves; a renewed slot does not.
      _ = try await redis.send(["ZADD", prefix + "slots:1:main", "1", "c//1", "1", "d//1"])
      // Several renewals at once. Some of the slots do not exist any more.
      let held = [
        HeldSlot(try delivery("g"), at: "main"), HeldSlot(try delivery("d"), at: "main"),
        HeldSlot(try delivery("d"), at: "other"),
      ]
      try await store.renew(held, lease: hour)
      #expect(try await begin(store, delivery("e"), narrow) == .taken)
      #expect(try await begin(store, delivery("f"), narrow) == .full)
      // A missing slot cannot be renewed.
      #expect(try await redis.send(["EXISTS", prefix + "slots:1:other"]).integer == 0)
      #expect(try await redis.send(["ZCARD", prefix + "slots:1:main"]).integer == 2)
    }
  }

  @Test func `what is beyond the rate is planned, one after the other`() async throws {
    try await with { (store, redis, prefix) async throws in
      let paced = endpoint(concurrency: 100, perSecond: 2)
      #expect(try await begin(store, delivery("a"), paced) == .taken)
      // The state after many attempts: there is no room for an hour.
      let key = prefix + "pace:1:main"
      let later = ((try await redis.send(["TIME"]).array?[0].integer ?? 0) + 3600) * 1_000_000
      _ = try await redis.send(["HSET", key, "used", String(later)])
      var times: [Int64] = []
      for number in 0..<3 {
        guard case .planned = try await begin(store, delivery("b\(number)"), paced) else {
          throw NeverHappened(description: "it was not planned")
        }
        times.append(try await redis.send(["HGET", key, "planned"]).integer ?? 0)
      }
      #expect(times.map { $0 - later } == [500_000, 1_000_000, 1_500_000])
      // A planned delivery must still wait until there is room.
      var planned = try delivery("b0")
      planned.isPlanned = true
      guard case .planned = try await begin(store, planned, paced) else {
        throw NeverHappened(description: "it was let through")
      }
      // With room the planned delivery passes. A new one does not, because other deliveries are planned before it.
      _ = try await redis.send(["HSET", prefix + "pace:1:main", "used", "0"])
      guard case .planned = try await begin(store, delivery("new"), paced) else {
        throw NeverHappened(description: "it overtook")
      }
      #expect(try await begin(store, planned, paced) == .taken)
    }
  }

  @Test func `copies of a message have one turn, and another rate makes new plans`() async throws {
    try await with { (store, redis, prefix) async throws in
      let slow = endpoint(concurrency: 100, perSecond: 1)
      #expect(try await begin(store, delivery("a"), slow) == .taken)
      // The state after many attempts: there is no room for an hour.
      let now = try await redis.send(["TIME"]).array?[0].integer ?? 0
      _ = try await redis.send(["HSET", prefix + "pace:1:main", "used", String((now + 3600) * 1_000_000)])
      func planned(_ delivery: Delivery, _ endpoint: WebhookEndpoint) async throws -> Duration {
        guard case .planned(let time) = try await begin(store, delivery, endpoint) else {
          throw NeverHappened(description: "it was not planned")
        }
        return time
      }
      let first = try await planned(delivery("b"), slow)
      for _ in 0..<50 { #expect(try await planned(delivery("b"), slow) <= first) }
      let far = try await redis.send(["HGET", prefix + "pace:1:main", "planned"]).integer
      #expect(far == (now + 3601) * 1_000_000)
      // The next plan is one second later, not fifty.
      _ = try await planned(delivery("c"), slow)
      #expect(try await redis.send(["HGET", prefix + "pace:1:main", "planned"]).integer == (now + 3602) * 1_000_000)
      #expect(try await redis.send(["ZCARD", prefix + "plans:1:main"]).integer == 2)
      // With a rate of 100, the store forgets the plans of an hour.
      let fast = endpoint(concurrency: 100, perSecond: 100)
      #expect(try await begin(store, delivery("b"), fast) == .taken)
      #expect(try await begin(store, delivery("c"), fast) == .taken)
      #expect(try await redis.send(["ZCARD", prefix + "plans:1:main"]).integer == 0)
      try await store.forget(publisher: 1, endpoint: "main")
      #expect(try await redis.send(["KEYS", prefix + "p*"]).array?.isEmpty == true)
    }
  }

  @Test func `a publisher has a hundred replays at once, and ten a second`() async throws {
    try await with { (store, redis, prefix) async throws in
      #expect(try await store.takeReplays(99, publisher: 1, perSecond: 10) == nil)
      #expect(try await store.takeReplays(1, publisher: 1, perSecond: 10) == nil)
      // The state after all replays have just been taken; the clock may jump.
      let now = try await redis.send(["TIME"]).array?[0].integer ?? 0
      let key = prefix + "replays:1"
      _ = try await redis.send(["SET", key, String((now + 3600) * 1_000_000)])
      let wait = try #require(try await store.takeReplays(1, publisher: 1, perSecond: 10))
      #expect(wait == .milliseconds(100))
      #expect(try await store.takeReplays(100, publisher: 1, perSecond: 10) == .seconds(10))
      #expect(try await store.takeReplays(100, publisher: 2, perSecond: 10) == nil)
      _ = try await redis.send(["SET", key, String((now - 1) * 1_000_000)])
      #expect(try await store.takeReplays(100, publisher: 1, perSecond: 10) == nil)
      // Its key does not stay: it has a time (-1 is none), or has gone already (-2) on a busy machine.
      #expect(try await redis.send(["PTTL", key]).integer ?? -1 != -1)
    }
  }
}

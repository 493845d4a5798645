import AMQP
import Domain
import EventLoop
import Harness
import Ledger
import Redis
import TestSupport
import Testing

/// The notifiers' records in a real Redis: limits, the log, owed deliveries, and health.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct DeliveryStoreTests {
  private let hour: Duration = .seconds(3600)

  private func with(_ body: @LoopActor (DeliveryStore, RedisClient, String) async throws -> Void) async throws {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("ready") { redis.isReady }
    let prefix = "test-\(UInt64.random(in: 0...UInt64.max)):"
    try await body(DeliveryStore(redis, prefix: prefix), redis, prefix)
    for key in try await redis.send(["KEYS", prefix + "*"]).array ?? [] {
      _ = try await redis.send(["DEL", key.string ?? ""])
    }
    await redis.stop()
  }

  private func delivery(_ event: String = "evt_1", attempt: Int = 1, round: String = "") throws -> Delivery {
    let body = #"{"broadcasterId":1,"topic":"t","data":{"synchronizationId":"s","name":"Zoë \"\u00e9\n"}}"#
    var delivery = try Delivery(
      eventId: event, endpointId: nil, round: round,
      headers: ["version": 7, "traceparent": "trace", "cloudEvents_id": .string(event)], body: Array(body.utf8))
    delivery.attempt = attempt
    return delivery
  }

  private func endpoint(
    _ id: String = "main", concurrency: Int = 10, perSecond: Int? = nil, source: WebhookEndpoint.Source = .configuration
  ) -> WebhookEndpoint {
    WebhookEndpoint(
      id: id, url: "https://example.com", topics: ["t"], secrets: [], maxConcurrency: concurrency,
      maxPerSecond: perSecond, source: source)
  }

  private func attempt(
    _ delivery: Delivery, at endpoint: String = "main", _ outcome: DeliveryAttempt.Outcome, status: Int? = nil,
    nextAt: Int64? = nil
  ) -> DeliveryAttempt {
    DeliveryAttempt(
      eventId: delivery.eventId, endpointId: endpoint, topic: delivery.topic, version: delivery.version,
      number: delivery.attempt, time: 0, status: status, durationMilliseconds: 12,
      error: outcome == .delivered ? nil : "status 500", answer: "Zoë", outcome: outcome, nextAt: nextAt)
  }

  /// Begins and finishes an attempt as a notifier does, for an endpoint of a file.
  @discardableResult
  private func run(
    _ store: DeliveryStore, _ delivery: Delivery, at id: String = "main", _ outcome: DeliveryAttempt.Outcome,
    nextAt: Int64? = nil, isGone: Bool = false, disableAfter: Duration? = nil
  ) async throws -> EndpointHealth? {
    try await store.finish(
      delivery, to: endpoint(id), attempt(delivery, at: id, outcome, nextAt: nextAt), isGone: isGone,
      disableAfter: disableAfter ?? hour, retention: hour)
  }

  private func begin(
    _ store: DeliveryStore, _ delivery: Delivery, _ endpoint: WebhookEndpoint
  ) async throws -> AttemptPermission {
    try await store.begin(delivery, to: endpoint, lease: .seconds(60)).permission
  }

  @Test func `the log of an endpoint is read page by page, the newest first`() async throws {
    try await with { (store, redis, prefix) async throws in
      for number in 1...5 { try await run(store, delivery("evt_\(number)"), number % 2 == 0 ? .delivered : .failed) }
      try await run(store, delivery("evt_9"), at: "other", .delivered)

      let first = try await store.attempts(publisher: 1, endpoint: "main", limit: 2)
      #expect(first.attempts.map(\.eventId) == ["evt_5", "evt_4"])
      let second = try await store.attempts(publisher: 1, endpoint: "main", limit: 2, cursor: first.next)
      #expect(second.attempts.map(\.eventId) == ["evt_3", "evt_2"])
      let third = try await store.attempts(publisher: 1, endpoint: "main", limit: 2, cursor: second.next)
      #expect(third.attempts.map(\.eventId) == ["evt_1"])
      #expect(third.next == nil)
      let whole = try await store.attempts(publisher: 1, endpoint: "main", limit: 5)
      #expect(whole.attempts.count == 5)
      #expect(whole.next == nil)

      let delivered = try await store.attempts(publisher: 1, endpoint: "main", limit: 10, outcome: .delivered)
      #expect(delivered.attempts.map(\.eventId) == ["evt_4", "evt_2"])
      #expect(try await store.attempts(publisher: 2, endpoint: "main", limit: 10).attempts.isEmpty)

      let newest = try #require(first.attempts.first)
      var expected = attempt(try delivery("evt_5"), .failed)
      expected.time = newest.time
      #expect(newest == expected)
      #expect(newest.time > 1_600_000_000_000)
      for key in ["attempts:1:main", "event-attempts:1:evt_5", "event:1:evt_5"] {
        #expect(try await redis.send(["PTTL", prefix + key]).integer ?? 0 > 0, "\(key)")
      }
    }
  }

  @Test func `the log of an event goes over all endpoints, also when one was deleted`() async throws {
    try await with { (store, _, _) async throws in
      try await run(store, delivery(), at: "a", .failed, nextAt: 5)
      try await run(store, delivery(), at: "b", .delivered)
      try await run(store, delivery(attempt: 2), at: "a", .delivered)
      let first = try await store.attempts(publisher: 1, event: "evt_1", limit: 2)
      #expect(first.attempts.map(\.endpointId) == ["a", "b"])
      #expect(first.attempts.map(\.number) == [2, 1])
      let second = try await store.attempts(publisher: 1, event: "evt_1", limit: 2, cursor: first.next)
      #expect(second.attempts.map(\.nextAt) == [5])
      #expect(second.next == nil)
      try await store.forget(publisher: 1, endpoint: "a")
      #expect(try await store.attempts(publisher: 1, event: "evt_1", limit: 9).attempts.map(\.endpointId) == ["b"])
    }
  }

  @Test(arguments: [
    ("1-0", true), ("1700000000000-12", true), ("", false), ("-", false), ("1", false), ("1-", false), ("1-2-3", false),
    ("+", false), ("a-0", false), ("99999999999999999999-0", false),
    ("0-0", false), ("01-0", false), ("9999999999999999999-9999999999999999999", true),
  ])
  func `a cursor is two numbers`(text: String, isCursor: Bool) {
    #expect(DeliveryStore.isCursor(text) == isCursor)
  }

  @Test func `an event is kept byte for byte and can be delivered again`() async throws {
    try await with { (store, _, _) async throws in
      let original = try delivery()
      try await run(store, original, .abandoned)
      let again = try #require(try await store.event(publisher: 1, id: "evt_1", to: "main", round: "r"))
      #expect(again.body == original.body)
      #expect(again.headers == original.headers)
      #expect(again.endpointId == "main")
      #expect(again.attempt == 1)
      #expect(again.version == 7)
      // The repeated delivery counts its own attempts.
      #expect(try await begin(store, original, endpoint()) == .made(.abandoned, nextAt: nil))
      #expect(try await begin(store, again, endpoint()) == .go)
      #expect(try await store.event(publisher: 2, id: "evt_1", to: "main", round: "r") == nil)
      #expect(try await store.event(publisher: 1, id: "evt_2", to: "main", round: "r") == nil)
    }
  }

  @Test func `an endpoint is owed what was given up, until it is delivered`() async throws {
    try await with { (store, _, _) async throws in
      try await run(store, delivery("evt_1"), .abandoned)
      try await run(store, delivery("evt_2"), .skipped)
      try await run(store, delivery("evt_3"), .failed)
      try await run(store, delivery("evt_4"), .delivered)
      let owed = try await store.owed(publisher: 1, endpoint: "main", since: 0)
      #expect(owed.map(\.eventId) == ["evt_1", "evt_2"])
      #expect(try await store.owed(publisher: 1, endpoint: "main", since: 0, limit: 1).count == 1)
      #expect(try await store.owed(publisher: 1, endpoint: "main", since: .max).isEmpty)
      try await run(store, delivery("evt_1", round: "r"), .delivered)
      #expect(try await store.owed(publisher: 1, endpoint: "main", since: 0).map(\.eventId) == ["evt_2"])
    }
  }

  @Test func `an attempt is made once, whoever asks again`() async throws {
    try await with { (store, _, _) async throws in
      #expect(try await begin(store, delivery(), endpoint()) == .go)
      #expect(try await begin(store, delivery(), endpoint()) == .underWay)
      #expect(try await begin(store, delivery(), endpoint("other")) == .go)
      try await run(store, delivery(), .failed, nextAt: 77)
      #expect(try await begin(store, delivery(), endpoint()) == .made(.failed, nextAt: 77))
      #expect(try await begin(store, delivery(attempt: 2), endpoint()) == .go)
      try await run(store, delivery(attempt: 2), .delivered)
      #expect(try await begin(store, delivery(attempt: 2), endpoint()) == .made(.delivered, nextAt: nil))
      #expect(try await begin(store, delivery(), endpoint()) == .superseded)
    }
  }

  @Test func `what is delivered stays delivered, whatever comes of what is asked for later`() async throws {
    try await with { (store, _, _) async throws in
      try await run(store, delivery(), .failed, nextAt: 77)
      // The publisher sends it again while the schedule runs, and once more in vain.
      #expect(try await begin(store, delivery(round: "r"), endpoint()) == .go)
      try await run(store, delivery(round: "r"), .delivered)
      try await run(store, delivery(round: "s"), .failed, nextAt: 78)
      #expect(try await begin(store, delivery(), endpoint()) == .superseded)
      #expect(try await begin(store, delivery(attempt: 2), endpoint()) == .superseded)
      #expect(try await begin(store, delivery(round: "recover-5"), endpoint()) == .superseded)
      // A requested delivery follows its schedule. At its end it is not owed.
      #expect(try await begin(store, delivery(round: "s"), endpoint()) == .made(.failed, nextAt: 78))
      #expect(try await begin(store, delivery(attempt: 2, round: "s"), endpoint()) == .go)
      try await run(store, delivery(attempt: 2, round: "s"), .abandoned)
      try await run(store, delivery(round: "skipped"), .skipped)
      #expect(try await store.owed(publisher: 1, endpoint: "main", since: 0).isEmpty)
      // A delivered event ends every round that began before it, and no round that begins after it.
      try await run(store, delivery(round: "t"), .failed)
      try await run(store, delivery(round: "u"), .delivered)
      #expect(try await begin(store, delivery(attempt: 2, round: "t"), endpoint()) == .superseded)
      #expect(try await begin(store, delivery(round: "v"), endpoint()) == .go)
      // This concerns one endpoint only.
      #expect(try await begin(store, delivery(), endpoint("other")) == .go)
    }
  }

  @Test func `a round that fails does not let another one begin anew`() async throws {
    try await with { (store, redis, prefix) async throws in
      try await run(store, delivery(attempt: 3), .skipped)
      try await run(store, delivery(round: "recover-1"), .failed, nextAt: 9)
      #expect(try await begin(store, delivery(attempt: 3), endpoint()) == .made(.skipped, nextAt: nil))
      #expect(try await begin(store, delivery(round: "recover-1"), endpoint()) == .made(.failed, nextAt: 9))
      try await run(store, delivery(attempt: 2, round: "recover-1"), .failed)
      #expect(try await begin(store, delivery(round: "recover-1"), endpoint()) == .superseded)
      // The store remembers only the last rounds of an endless series.
      for number in 0..<30 { try await run(store, delivery(round: "r\(number)"), .failed, nextAt: 7) }
      let fields = try await redis.send(["HKEYS", prefix + "event:1:evt_1"]).array ?? []
      #expect(fields.count { $0.string?.hasPrefix("made:main/") == true } == 21)
      #expect(try await begin(store, delivery(round: "r29"), endpoint()) == .made(.failed, nextAt: 7))
      #expect(try await begin(store, delivery(attempt: 3), endpoint()) == .made(.skipped, nextAt: nil))
    }
  }

  @Test func `the fleet makes as many attempts at a time as the endpoint allows`() async throws {
    try await with { (store, redis, prefix) async throws in
      let narrow = endpoint(concurrency: 2)
      #expect(try await begin(store, delivery("a"), narrow) == .go)
      #expect(try await begin(store, delivery("b"), narrow) == .go)
      #expect(try await begin(store, delivery("c"), narrow) == .full)
      try await store.release(delivery("a"), to: "main")
      #expect(try await begin(store, delivery("c"), narrow) == .go)
      try await run(store, delivery("b"), .delivered)
      #expect(try await begin(store, delivery("d"), narrow) == .go)
      // The slots of a killed notifier become free by themselves; a renewed slot does not.
      _ = try await redis.send(["ZADD", prefix + "slots:1:main", "1", "c//1", "1", "d//1"])
      // Several renewals at once. Some of the slots do not exist any more.
      try await store.renew([(delivery("g"), "main"), (delivery("d"), "main"), (delivery("d"), "other")], lease: hour)
      #expect(try await begin(store, delivery("e"), narrow) == .go)
      #expect(try await begin(store, delivery("f"), narrow) == .full)
      // A missing slot cannot be renewed.
      #expect(try await redis.send(["EXISTS", prefix + "slots:1:other"]).integer == 0)
      #expect(try await redis.send(["ZCARD", prefix + "slots:1:main"]).integer == 2)
    }
  }

  @Test func `what is beyond the rate is planned, one after the other`() async throws {
    try await with { (store, redis, prefix) async throws in
      let paced = endpoint(concurrency: 100, perSecond: 2)
      #expect(try await begin(store, delivery("a"), paced) == .go)
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
      #expect(try await begin(store, planned, paced) == .go)
    }
  }

  @Test func `copies of a message have one turn, and another rate makes new plans`() async throws {
    try await with { (store, redis, prefix) async throws in
      let slow = endpoint(concurrency: 100, perSecond: 1)
      #expect(try await begin(store, delivery("a"), slow) == .go)
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
      #expect(try await begin(store, delivery("b"), fast) == .go)
      #expect(try await begin(store, delivery("c"), fast) == .go)
      #expect(try await redis.send(["ZCARD", prefix + "plans:1:main"]).integer == 0)
      try await store.forget(publisher: 1, endpoint: "main")
      #expect(try await redis.send(["KEYS", prefix + "p*"]).array?.isEmpty == true)
    }
  }

  @Test func `410 disables at once, and the endpoint stays unannounced until that was done`() async throws {
    try await with { (store, redis, prefix) async throws in
      let version = ["GET", prefix + "webhooks-version:1"]
      try await run(store, delivery("evt_0"), .failed)
      #expect(try await redis.send(version) == .null)
      let health = try await run(store, delivery(), .abandoned, isGone: true)
      #expect(health?.disabled?.reason == .gone)
      // Every notifier must read the publisher's endpoints once more.
      #expect(try await redis.send(version) != .null)
      let beginning = try await store.begin(delivery("evt_2"), to: endpoint(), lease: .seconds(1))
      #expect(beginning.permission == .disabled)
      #expect(beginning.unannounced == health)
      #expect(beginning.now >= health?.disabled?.at ?? .max)
      // A notifier that repeats the disabling attempt must announce it too.
      #expect(try await store.begin(delivery(), to: endpoint(), lease: hour).unannounced == health)
      try await store.announced(publisher: 1, endpoint: "main")
      #expect(try await store.begin(delivery(), to: endpoint(), lease: hour).unannounced == nil)
      #expect(try await run(store, delivery("evt_2"), .skipped) == nil)
    }
  }

  @Test func `an endpoint that only fails is disabled, one success starts anew`() async throws {
    try await with { (store, redis, prefix) async throws in
      let key = prefix + "webhook-health:1:main"
      #expect(try await run(store, delivery("a"), .failed) == nil)
      _ = try await redis.send(["HSET", key, "failing_since", "1000"])
      try await run(store, delivery("b"), .delivered)
      #expect(try await run(store, delivery("c"), .failed) == nil)
      #expect(try await redis.send(["HGET", key, "failing_since"]).integer ?? 0 > 1000)
      _ = try await redis.send(["HSET", key, "failing_since", "1000"])
      // A skipped delivery says nothing about the endpoint.
      #expect(try await run(store, delivery("d"), .skipped) == nil)
      let health = try #require(try await run(store, delivery("e"), .failed))
      #expect(health.disabled?.reason == .failing)
      #expect(health.failingSince == 1000)
      #expect(health.disabled?.at ?? 0 > 1000)
    }
  }

  @Test func `a publisher has a hundred replays at once, and ten a second`() async throws {
    try await with { (store, redis, prefix) async throws in
      #expect(try await store.takeReplays(99, publisher: 1) == nil)
      #expect(try await store.takeReplays(1, publisher: 1) == nil)
      // The state after all replays have just been taken; the clock may jump.
      let now = try await redis.send(["TIME"]).array?[0].integer ?? 0
      let key = prefix + "replays:1"
      _ = try await redis.send(["SET", key, String((now + 3600) * 1_000_000)])
      let wait = try #require(try await store.takeReplays(1, publisher: 1))
      #expect(wait == .milliseconds(100))
      #expect(try await store.takeReplays(100, publisher: 1) == .seconds(10))
      #expect(try await store.takeReplays(100, publisher: 2) == nil)
      _ = try await redis.send(["SET", key, String((now - 1) * 1_000_000)])
      #expect(try await store.takeReplays(100, publisher: 1) == nil)
      #expect(try await redis.send(["PTTL", key]).integer ?? 0 > 0)
    }
  }

  @Test func `the logs have an end, however many attempts are asked for`() async throws {
    try await with { (store, redis, prefix) async throws in
      func fill(_ key: String, _ count: Int) async throws {
        let script = "for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'event', 'evt_1') end"
        _ = try await redis.send(["EVAL", script, "1", prefix + key, String(count)])
      }
      try await fill("attempts:1:main", 101_000)
      try await fill("event-attempts:1:evt_1", 2000)
      try await run(store, delivery(), .delivered)
      for (key, limit) in [
        ("attempts:1:main", DeliveryStore.endpointLogLimit), ("event-attempts:1:evt_1", DeliveryStore.eventLogLimit),
      ] {
        let length = try await redis.send(["XLEN", prefix + key]).integer ?? 0
        #expect(length >= limit && length < limit + 200, "\(key) has \(length)")
      }
      #expect(try await store.attempts(publisher: 1, endpoint: "main", limit: 1).attempts.map(\.eventId) == ["evt_1"])
    }
  }

  @Test func `nothing is sent to an endpoint that was deleted, and nothing is written about it`() async throws {
    try await with { (store, redis, prefix) async throws in
      #expect(try await begin(store, delivery(), endpoint(source: .api)) == .gone)
      _ = try await redis.send(["HSET", prefix + "webhook:1:main", "url", "u"])
      #expect(try await begin(store, delivery(), endpoint(source: .api)) == .go)
      _ = try await redis.send(["DEL", prefix + "webhook:1:main"])
      _ = try await store.finish(
        delivery(), to: endpoint(source: .api), attempt(delivery(), .failed), disableAfter: hour, retention: hour)
      #expect(try await redis.send(["KEYS", prefix + "*"]).array?.isEmpty == true)
    }
  }
}

import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Messaging
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Deliveries, their attempts and replays in a real ledger.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct DeliveryLedgerTests {
  /// A ledger with the partitions of the log, and what a notifier does with it.
  @LoopActor
  struct Bench {
    let ledger: PostgresClient
    let deliveries: DeliveryLedger
    let recorder: DeliveryRecorder
    let endpoints: WebhookEndpointStore

    init(_ ledger: PostgresClient) {
      self.ledger = ledger
      deliveries = DeliveryLedger(ledger)
      recorder = DeliveryRecorder(ledger)
      endpoints = WebhookEndpointStore(ledger)
    }

    /// Writes an event as the commit that made it, and reads it as the notifier gets it.
    @discardableResult
    func event(_ id: EventId = "evt_1", publisher: PublisherId = 1) async throws -> Delivery {
      let event = DeliveryLedgerTests.event(id, publisher: publisher)
      _ = try await ledger.run(
        Event.tell([event], audience: [event.publisherId]) + [Event.confirmed([event.id])])
      return try Delivery(event, endpointId: nil)
    }

    /// Ends an attempt at an endpoint of a file.
    @discardableResult
    func end(
      _ delivery: Delivery, at endpoint: EndpointId = "main", among all: [EndpointId]? = nil,
      _ result: DeliveryAttempt.Result, nextAt: Int64? = nil, time: Int64? = nil
    ) async throws -> Int64? {
      let attempt = DeliveryAttempt(
        eventId: delivery.eventId, endpointId: endpoint, topic: delivery.topic, version: delivery.version,
        number: delivery.attempt, time: time ?? unixMilliseconds(), durationMilliseconds: 12,
        error: result == .delivered ? nil : "status 500", answer: "Zoë\0", result: result, nextAt: nextAt)
      let look = all.map { EndpointLook($0, revision: 0) }
      let recorded = try await recorder.record(
        DeliveryChange(delivery, at: endpoint, look: look, .attempted(attempt, isConfigured: true)))
      return recorded.failingSince
    }

    func state(_ delivery: Delivery, at endpoint: EndpointId = "main") async throws -> DeliveryState {
      try await deliveries.state(of: delivery, at: DeliveryLedgerTests.endpoint(endpoint))
    }

    /// The rows of unfinished deliveries.
    func rows() async throws -> [String] {
      try await ledger.texts(
        "SELECT event_id || '/' || endpoint_id || '/' || round || '/' || attempt FROM deliveries ORDER BY 1")
    }
  }

  static func with(_ body: @LoopActor (Bench) async throws -> Void) async throws {
    try await LedgerDatabase.migrated { (ledger) async throws in
      let bench = Bench(ledger)
      _ = try await bench.deliveries.keepLog(for: .seconds(86_400))
      try await body(bench)
    }
  }

  nonisolated static func event(_ id: EventId, publisher: PublisherId = 1) -> Event {
    let body = #"{"broadcasterId":\#(publisher),"topic":"t","data":{"name":"Zoë \"\u00e9\n"}}"#
    return Event(
      id: id, publisherId: publisher, topic: "t", version: 7, traceparent: "trace", time: 1_700_000_000_123,
      body: Array(body.utf8))
  }

  nonisolated static func endpoint(
    _ id: EndpointId = "main", source: WebhookEndpoint.Source = .configuration
  ) -> WebhookEndpoint {
    WebhookEndpoint(id: id, url: "https://example.com", topics: ["t"], secrets: [], source: source)
  }

  private func again(_ delivery: Delivery, attempt: Int, round: DeliveryRound = .first) throws -> Delivery {
    var again = try Delivery(
      eventId: delivery.eventId, endpointId: "main", round: round, headers: delivery.headers, body: delivery.body)
    again.attempt = attempt
    return again
  }

  @Test func `the first attempt splits an event into the deliveries that its endpoints still miss`() async throws {
    try await Self.with { (bench) async throws in
      let delivery = try await bench.event()
      #expect(try await bench.rows() == ["evt_1///1"])
      #expect(try await bench.state(delivery) == .open)
      try await bench.end(delivery, at: "a", among: ["a", "b", "c"], .delivered)
      #expect(try await bench.rows() == ["evt_1/b//1", "evt_1/c//1"])
      try await bench.end(delivery, at: "b", among: ["a", "b", "c"], .failed, nextAt: 77)
      try await bench.end(delivery, at: "c", among: ["a", "b", "c"], .abandoned)
      #expect(try await bench.rows() == ["evt_1/b//2"])
      // The same event comes again: from the outbox, or because its notifier died.
      #expect(try await bench.state(delivery, at: "a") == .made(.delivered, nextAt: nil))
      #expect(try await bench.state(delivery, at: "b") == .made(.failed, nextAt: 77))
      #expect(try await bench.state(delivery, at: "c") == .made(.abandoned, nextAt: nil))
      #expect(try await bench.state(again(delivery, attempt: 2), at: "b") == .open)
      #expect(try await bench.state(again(delivery, attempt: 2), at: "c") == .superseded)
    }
  }

  @Test func `an event without endpoints leaves nothing`() async throws {
    try await Self.with { (bench) async throws in
      let delivery = try await bench.event()
      _ = try await bench.recorder.record(DeliveryChange(delivery, look: EndpointLook([], revision: 0), .seen))
      #expect(try await bench.rows().isEmpty)
      // What the ledger does not know is delivered: an older state of it may have been restored.
      #expect(try await bench.state(Delivery(Self.event("evt_unknown"), endpointId: nil)) == .open)
    }
  }

  @Test func `two notifiers that finish the same delivery leave one state, and two lines in the log`() async throws {
    try await Self.with { (bench) async throws in
      let delivery = try await bench.event()
      let other = Bench(bench.ledger)
      let ends: [(Bench, EndpointId, DeliveryAttempt.Result)] = [
        (bench, "a", .delivered), (other, "a", .failed), (other, "b", .delivered), (bench, "b", .failed),
        (bench, "c", .failed), (other, "c", .failed),
      ]
      let tasks = ends.map { bench, endpoint, result in
        Task { @LoopActor in
          try await bench.end(delivery, at: endpoint, among: ["a", "b", "c"], result, nextAt: 77)
        }
      }
      for task in tasks { _ = try await task.value }
      #expect(try await bench.rows() == ["evt_1/c//2"])
      #expect(try await bench.deliveries.attempts(publisher: 1, event: "evt_1", limit: 9).attempts.count == 6)
    }
  }

  @Test func `a put off delivery keeps its time, and a postponed event stays whole`() async throws {
    try await Self.with { (bench) async throws in
      let delivery = try await bench.event()
      let due = unixMilliseconds() + 3_600_000
      _ = try await bench.recorder.record(DeliveryChange(delivery, .postponed(until: due)))
      #expect(try await bench.rows() == ["evt_1///1"])
      #expect(try await bench.deliveries.overdue(by: .zero, limit: 9).deliveries.isEmpty)
      _ = try await bench.recorder.record(
        DeliveryChange(delivery, at: "a", look: EndpointLook(["a", "b"], revision: 0), .postponed(until: due)))
      #expect(try await bench.rows() == ["evt_1/a//1", "evt_1/b//1"])
      #expect(try await bench.deliveries.overdue(by: .zero, limit: 9).deliveries.map(\.endpointId) == ["b"])
      _ = try await bench.recorder.record(DeliveryChange(delivery, at: "a", .dropped))
      #expect(try await bench.rows() == ["evt_1/b//1"])
    }
  }

  @Test func `what is delivered ends every round that began before it, and no later one`() async throws {
    try await Self.with { (bench) async throws in
      let delivery = try await bench.event()
      try await bench.end(delivery, among: ["main"], .failed, nextAt: 77)
      func resend(_ round: DeliveryRound) async throws -> Delivery {
        try #require(
          try await bench.deliveries.resend(publisher: 1, event: "evt_1", to: "main", round: round))
      }
      let (r, s) = (try await resend("r"), try await resend("s"))
      try await bench.end(s, .failed, nextAt: 78)
      #expect(try await bench.state(r) == .open)
      #expect(try await bench.state(s) == .made(.failed, nextAt: 78))
      try await bench.end(r, .delivered)
      #expect(try await bench.rows().isEmpty)
      #expect(try await bench.state(again(delivery, attempt: 2)) == .superseded)
      #expect(try await bench.state(again(delivery, attempt: 2, round: "s")) == .superseded)
      // A round that fails after all does not make the event a missed one.
      let t = try await resend("t")
      #expect(try await bench.state(t) == .open)
      try await bench.end(t, .abandoned)
      #expect(try await bench.deliveries.owed(publisher: 1, endpoint: "main", since: 0).isEmpty)
      #expect(try await bench.deliveries.resend(publisher: 2, event: "evt_1", to: "main", round: "u") == nil)
      #expect(try await bench.deliveries.resend(publisher: 1, event: "evt_2", to: "main", round: "u") == nil)
    }
  }

  @Test func `an endpoint is owed what was given up, until it is delivered`() async throws {
    try await Self.with { (bench) async throws in
      let ends: [(EventId, DeliveryAttempt.Result)] = [
        ("evt_1", .abandoned), ("evt_2", .skipped), ("evt_3", .failed), ("evt_4", .delivered),
      ]
      for (id, result) in ends { try await bench.end(try await bench.event(id), among: ["main"], result) }
      let owed = try await bench.deliveries.owed(publisher: 1, endpoint: "main", since: 0)
      #expect(Set(owed.map(\.eventId)) == ["evt_1", "evt_2"])
      #expect(owed == owed.sorted { ($0.time, $0.eventId) < ($1.time, $1.eventId) })
      #expect(try await bench.deliveries.owed(publisher: 1, endpoint: "main", since: 0, limit: 1).count == 1)
      #expect(try await bench.deliveries.owed(publisher: 1, endpoint: "main", since: .max).isEmpty)
      #expect(try await bench.deliveries.owed(publisher: 2, endpoint: "main", since: 0).isEmpty)
      // Two requests begin one round.
      for _ in 0..<2 {
        let again = try await bench.deliveries.recover(owed, publisher: 1, endpoint: "main", isFirst: true)
        #expect(again.map(\.eventId) == owed.map(\.eventId))
        #expect(again.allSatisfy { $0.round.text.hasPrefix("recover-") && $0.endpointId == "main" })
      }
      #expect(try await bench.rows().count == 3)
      let one = try #require(
        try await bench.deliveries.recover(owed, publisher: 1, endpoint: "main", isFirst: false).first)
      #expect(
        one.body == Self.event(one.eventId).body && one.headers == Self.event(one.eventId).headers)
      try await bench.end(one, .delivered)
      #expect(try await bench.deliveries.owed(publisher: 1, endpoint: "main", since: 0).count == 1)
      #expect(
        try await bench.ledger.texts("SELECT action FROM audit") == ["events.recovered", "events.recovered"])
    }
  }

  /// A client asks twice. The notifier delivers the event after the second request has read what is owed.
  @Test func `what was delivered since the list was read is not recovered again`() async throws {
    try await Self.with { (bench) async throws in
      for id: EventId in ["evt_1", "evt_2"] {
        try await bench.end(try await bench.event(id), among: ["main"], .abandoned)
      }
      let owed = try await bench.deliveries.owed(publisher: 1, endpoint: "main", since: 0)
      let first = try await bench.deliveries.recover(owed, publisher: 1, endpoint: "main", isFirst: true)
      #expect(first.map(\.eventId) == owed.map(\.eventId))
      try await bench.end(first[0], .delivered)
      let again = try await bench.deliveries.recover(owed, publisher: 1, endpoint: "main", isFirst: true)
      #expect(again.map(\.eventId) == [owed[1].eventId])
      #expect(try await bench.rows() == ["\(owed[1].eventId)/main/\(first[1].round)/1"])
      // A copy of the first request's message finds the end in the log.
      #expect(try await bench.state(first[0]) == .made(.delivered, nextAt: nil))
    }
  }

  @Test func `a test event has its delivery at once`() async throws {
    try await Self.with { (bench) async throws in
      let delivery = try await bench.deliveries.test(Self.event("evt_t"), at: "main")
      #expect(delivery.endpointId == "main")
      #expect(try await bench.rows() == ["evt_t/main//1"])
      #expect(try await bench.state(delivery) == .open)
    }
  }

  @Test func `the sweep finds every due delivery after the queue was wiped, once`() async throws {
    try await Self.with { (bench) async throws in
      for id: EventId in ["evt_1", "evt_2", "evt_3"] { try await bench.event(id) }
      let split = try await bench.event("evt_4")
      try await bench.end(split, at: "a", among: ["a", "b"], .failed, nextAt: unixMilliseconds() - 1)
      try await bench.end(split, at: "b", .failed, nextAt: unixMilliseconds() + 3_600_000)
      try await bench.ledger.execute("UPDATE deliveries SET due_at = due_at - interval '61 s' WHERE endpoint_id <> 'b'")
      try await bench.ledger.execute("DELETE FROM events WHERE id = 'evt_3'")
      #expect(try await bench.deliveries.overdue(by: .seconds(600), limit: 9) == OverdueDeliveries())

      let first = try await bench.deliveries.overdue(by: .seconds(60), limit: 9)
      #expect(first.lost == 1 && !first.isFull)
      let found = first.deliveries.sorted { $0.eventId < $1.eventId }
      #expect(found.map(\.eventId) == ["evt_1", "evt_2", "evt_4"])
      #expect(found.map(\.endpointId) == [nil, nil, "a"])
      #expect(found.map(\.attempt) == [1, 1, 2])
      #expect(
        found[0].body == Self.event("evt_1").body && found[0].headers == Self.event("evt_1").headers)
      #expect(try await bench.deliveries.overdue(by: .seconds(60), limit: 9).deliveries.isEmpty)
      #expect(try await bench.rows() == ["evt_1///1", "evt_2///1", "evt_4/a//2", "evt_4/b//2"])
      // Of two sweeps at once, each delivery goes to one.
      try await bench.ledger.execute("UPDATE deliveries SET due_at = due_at - interval '61 s' WHERE endpoint_id <> 'b'")
      let sweeps = (0..<2).map { _ in
        Task { @LoopActor in try await bench.deliveries.overdue(by: .seconds(60), limit: 2).deliveries.map(\.eventId) }
      }
      var taken: [EventId] = []
      for sweep in sweeps { taken += try await sweep.value }
      #expect(Set(taken).count == taken.count)
    }
  }

  @Test func `the log is read page by page, the newest first`() async throws {
    try await Self.with { (bench) async throws in
      let start = unixMilliseconds() - 60_000
      for number in 1...5 {
        let delivery = try Delivery(Self.event("evt_\(number)"), endpointId: "main")
        try await bench.end(delivery, number % 2 == 0 ? .delivered : .failed, time: start + Int64(number))
      }
      try await bench.end(try Delivery(Self.event("evt_9"), endpointId: "other"), at: "other", .delivered)
      let log = bench.deliveries
      let first = try await log.attempts(publisher: 1, endpoint: "main", limit: 2)
      #expect(first.attempts.map(\.eventId) == ["evt_5", "evt_4"])
      let second = try await log.attempts(publisher: 1, endpoint: "main", limit: 2, cursor: first.next)
      #expect(second.attempts.map(\.eventId) == ["evt_3", "evt_2"])
      let third = try await log.attempts(publisher: 1, endpoint: "main", limit: 2, cursor: second.next)
      #expect(third.attempts.map(\.eventId) == ["evt_1"] && third.next == nil)
      let delivered = try await log.attempts(publisher: 1, endpoint: "main", limit: 10, result: .delivered)
      #expect(delivered.attempts.map(\.eventId) == ["evt_4", "evt_2"] && delivered.next == nil)
      #expect(try await log.attempts(publisher: 2, endpoint: "main", limit: 10).attempts.isEmpty)
      #expect(try await log.attempts(publisher: 2, event: "evt_1", limit: 10).attempts.isEmpty)
      let newest = try #require(first.attempts.first)
      #expect(newest.time == start + 5 && newest.version == 7 && newest.number == 1 && newest.status == nil)
      #expect(newest.error == "status 500" && newest.durationMilliseconds == 12)
      // An endpoint may answer with a NUL, which PostgreSQL keeps in no text.
      #expect(newest.answer == "Zoë\u{FFFD}")
    }
  }

  @Test func `a filter looks at a thousand attempts, and the next page goes on behind them`() async throws {
    try await Self.with { (bench) async throws in
      try await bench.end(try Delivery(Self.event("evt_1"), endpointId: "main"), .delivered)
      try await bench.ledger.execute(
        """
        INSERT INTO attempts (at, publisher_id, endpoint_id, event_id, round, topic, number, duration_ms, outcome)
        SELECT at + later * interval '1 millisecond', 1, 'main', 'evt_2', '', 't', 1, 1, 'failed'
        FROM attempts, generate_series(1, 1500) AS later
        """)
      let log = bench.deliveries
      let first = try await log.attempts(publisher: 1, endpoint: "main", limit: 9, result: .delivered)
      #expect(first.attempts.isEmpty)
      let second = try await log.attempts(
        publisher: 1, endpoint: "main", limit: 9, cursor: first.next, result: .delivered)
      #expect(second.attempts.map(\.eventId) == ["evt_1"] && second.next == nil)
    }
  }

  @Test(arguments: [
    ("1-0", true), ("1700000000000-12", true), ("", false), ("-", false), ("1", false), ("1-", false), ("1-2-3", false),
    ("+", false), ("a-0", false), ("9999999999999999-0", false), ("1-9999999999999999999", true),
    ("0-0", false), ("01-0", false),
  ])
  func `a cursor is two numbers`(text: String, isCursor: Bool) {
    #expect(DeliveryLedger.isCursor(text) == isCursor)
  }

  @Test func `an endpoint that only fails has failed since its first failure, one success starts anew`() async throws {
    try await Self.with { (bench) async throws in
      let hour: Int64 = 3_600_000
      let start = unixMilliseconds() - hour
      func end(_ id: EventId, _ result: DeliveryAttempt.Result, at time: Int64) async throws -> Int64? {
        try await bench.end(try Delivery(Self.event(id), endpointId: "main"), result, time: time)
      }
      #expect(try await end("a", .failed, at: start) == start)
      #expect(try await end("b", .abandoned, at: start + 5) == start)
      // A skipped delivery says nothing about the endpoint.
      #expect(try await end("c", .skipped, at: start + 6) == nil)
      #expect(try await bench.endpoints.health(1, ["main"]) == [EndpointHealth(failingSince: start)])
      #expect(try await end("d", .delivered, at: start + 7) == nil)
      #expect(try await bench.endpoints.health(1, ["main"]) == [EndpointHealth()])
      #expect(try await end("e", .failed, at: start + 8) == start + 8)
    }
  }

  @Test func `a disabled or deleted endpoint gets nothing, and nothing is noted about a deleted one`() async throws {
    try await Self.with { (bench) async throws in
      let delivery = try await bench.event()
      let own = Self.endpoint(source: .api)
      #expect(try await bench.deliveries.state(of: delivery, at: own) == .gone)
      _ = try await bench.endpoints.create(1, own)
      #expect(try await bench.deliveries.state(of: delivery, at: own) == .open)
      _ = try await bench.endpoints.disable(1, "main")
      #expect(try await bench.deliveries.state(of: delivery, at: own) == .disabled)
      _ = try await bench.endpoints.delete(1, "main")
      let attempt = DeliveryAttempt(
        eventId: "evt_1", endpointId: "main", topic: "t", number: 1, time: unixMilliseconds(), result: .failed)
      let since = try await bench.recorder.record(
        DeliveryChange(delivery, at: "main", .attempted(attempt, isConfigured: false)))
      #expect(since.failingSince == nil)
      #expect(try await bench.ledger.texts("SELECT endpoint_id FROM webhook_health").isEmpty)
    }
  }

  @Test func `the log has days ahead, and old days go`() async throws {
    try await Self.with { (bench) async throws in
      func days() async throws -> [String] {
        try await bench.ledger.texts(
          "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'attempts'::regclass ORDER BY 1")
      }
      let first = try await days()
      #expect(first.count == 9)
      #expect(try await bench.deliveries.keepLog(for: .seconds(86_400))?.isEmpty == true)
      try await bench.ledger.execute(
        """
        CREATE TABLE attempts_2020_02_29 PARTITION OF attempts
        FOR VALUES FROM ('2020-02-29 00:00:00+00') TO ('2020-03-01 00:00:00+00')
        """)
      try await bench.ledger.execute("DROP TABLE \(first[8])")
      let kept = try #require(try await bench.deliveries.keepLog(for: .seconds(86_400)))
      #expect(kept.created == 1 && kept.dropped == 1)
      #expect(try await days() == first)
      // Another notifier holds the lock.
      try await bench.ledger.transaction { transaction in
        let lock = PostgresStatement("lock of a test", "SELECT pg_advisory_xact_lock(\(DeliveryLedger.lock))")
        _ = try await transaction.query(PostgresQuery(lock))
        #expect(try await bench.deliveries.keepLog(for: .seconds(86_400)) == nil)
      }
    }
  }

  @Test func `an end without a place in the log waits until there is one`() async throws {
    try await LedgerDatabase.migrated { (ledger) async throws in
      var failures: [PostgresError] = []
      let recorder = DeliveryRecorder(ledger) { failures.append($0) }
      let bench = Bench(ledger)
      let delivery = try await bench.event()
      let attempt = DeliveryAttempt(
        eventId: "evt_1", endpointId: "main", topic: "t", number: 1, time: unixMilliseconds(), result: .delivered)
      let end = Task { @LoopActor in
        try await recorder.record(
          DeliveryChange(
            delivery, at: "main", look: EndpointLook(["main"], revision: 0), .attempted(attempt, isConfigured: true)))
      }
      try await eventually("it fails") { !failures.isEmpty }
      #expect(failures[0].isMissingPartition)
      #expect(recorder.waiting == 1)
      _ = try await bench.deliveries.keepLog(for: .seconds(86_400))
      _ = try await end.value
      #expect(try await bench.rows().isEmpty)
      #expect(try await bench.deliveries.attempts(publisher: 1, endpoint: "main", limit: 9).attempts.count == 1)
    }
  }

  @Test func `one end that the ledger refuses does not hold up the others`() async throws {
    try await Self.with { (bench) async throws in
      let good = try await bench.event("evt_1")
      let bad = try Delivery(Self.event("evt_2"), endpointId: "ma\0in")
      let tasks = [(good, "main"), (bad, "ma\0in"), (try await bench.event("evt_3"), "main")].map { delivery, id in
        Task { @LoopActor in try await bench.end(delivery, at: id, among: [id], .delivered) }
      }
      _ = try await tasks[0].value
      await #expect(throws: PostgresError.self) { _ = try await tasks[1].value }
      _ = try await tasks[2].value
      #expect(try await bench.rows().isEmpty)
    }
  }
}

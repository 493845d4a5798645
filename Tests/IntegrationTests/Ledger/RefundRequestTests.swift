import Domain
import EventLoop
import Fleets
import Formats
import JSON
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Requests for refunds and consents, against a real PostgreSQL. By its clock everything of the tests is due.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct RefundRequestTests {
  private nonisolated static let answering = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"], consumption: ConsumptionPolicy(.fromFacts))]),
    webhooks: [])
  private nonisolated static let me = CustomerKey(publisherId: 7, id: "me")
  private nonisolated static let minute: Int64 = 60_000
  private nonisolated static let answer = ConsumptionAnswer(.delivered, preference: .decline, isSampleProvided: true)

  private nonisolated static func given(_ isGiven: Bool = true, at offset: Int64 = -1000) -> Consent {
    Consent(isGiven: isGiven, textVersion: "v1", time: CommitLab.now + offset)
  }

  /// A ledger with a purchase of a customer's.
  private func with(
    workers: Int = 1, isChecked: Bool = true, _ body: @LoopActor (CommitLab, PostgresClient) async throws -> Void
  ) async throws {
    try await CommitLab.with(workers: workers, isChecked: isChecked) { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100"))
      try await body(lab, lab.clients[0])
    }
  }

  private nonisolated static func question(
    _ uuid: NotificationUUID, at offset: Int64 = 0, _ publisher: Publisher = answering,
    _ kind: RefundNotice.Kind = .asked(reason: nil)
  ) -> PurchaseUpdate {
    PurchaseUpdate(
      CommitLab.key("100"), [], from: .notification(uuid: uuid, reason: .refundRequested), publisher: publisher,
      refund: RefundNotice(kind, transactionId: "100", signedDate: CommitLab.now + offset))
  }

  /// Asks once, and returns the request.
  private func ask(_ lab: CommitLab, _ publisher: Publisher = answering) async throws -> RefundRequest {
    let events = try await lab.workers[0].apply(Self.question("n1", publisher))
    #expect(events.filter { $0.topic == EventTopic.refundRequested }.count == 1)
    return try #require(try await all(lab.clients[0]).first)
  }

  private func all(_ ledger: PostgresClient) async throws -> [RefundRequest] {
    var all: [RefundRequest] = []
    for state in RefundRequest.State.allCases {
      all += try await RefundAnswers(ledger).requests(of: 7, in: state, limit: 100)
    }
    return all.sorted { $0.requestedAt < $1.requestedAt }
  }

  private func take(_ ledger: PostgresClient, most: Int = 10) async throws -> [DueRefundRequest] {
    try await RefundRequests(ledger).takeDue(
      [PublisherShare(publisherId: 7, most: most)], limit: 10, lease: .seconds(600)
    ) { Issue.record($0) }
  }

  /// Takes the request of a customer who has consented: a worker sends the policy's answer.
  private func sending(_ lab: CommitLab) async throws -> DueRefundRequest {
    _ = try await Consents(lab.clients[0]).put(Self.given(), of: Self.me, isRequired: false)
    #expect(try await ask(lab).state == .sending)
    return try #require(try await take(lab.clients[0]).first)
  }

  /// Tells a request again, as a worker does.
  private func tell(_ next: RefundRequest, _ due: DueRefundRequest, _ ledger: PostgresClient) async throws -> Event? {
    try await RefundRequests(ledger).record(next, at: due.revision, audience: []) {
      Event(of: $0, offerId: "S1", version: 1, time: CommitLab.now, traceparent: nil, again: due.revision)
    }.taken()?.first
  }

  private func audit(_ ledger: PostgresClient) async throws -> [String] {
    try await AuditLog(ledger).entries(7, before: nil, limit: 100).entries.map {
      try JSONObject(JSONText($0.json)).requiredString("action")
    }
  }

  // MARK: Commits

  @Test func `a question is one row and one event, however often and under however many ids it comes`() async throws {
    try await with(workers: 2) { (lab, ledger) async throws in
      let tasks = (0..<20).map { number in
        Task { @LoopActor in
          try await lab.workers[number % 2].apply(Self.question("n\(number)", at: Int64(number % 5) * Self.minute))
        }
      }
      var told = 0
      for task in tasks { told += try await task.value.count { $0.topic == EventTopic.refundRequested } }
      #expect(told == 1)
      let requests = try await all(ledger)
      #expect(requests.count == 1 && requests[0].state == .open && requests[0].customerId == "me")
      // The first one that a worker met decides about the deadline. No repeat has moved it since.
      #expect(requests[0].deadline == requests[0].requestedAt + RefundRequest.patience)
      #expect(requests[0].seenAt == CommitLab.now + 4 * Self.minute)
      #expect(try await lab.number("SELECT count(*) FROM events WHERE topic = 'refundRequested'") == 1)
      #expect(
        try await lab.number(
          "SELECT count(*) FROM outbox JOIN events ON id = event_id WHERE topic = 'refundRequested'") == 1)
    }
  }

  @Test func `the consent at the commit lets the answer go`() async throws {
    try await with { (lab, ledger) async throws in
      _ = try await Consents(ledger).put(Self.given(), of: Self.me, isRequired: false)
      let request = try await ask(lab)
      #expect(request.state == .sending && request.answeredBy == .policy && request.consent == Self.given())
      #expect(request.answer == ConsumptionAnswer(.delivered, isSampleProvided: false))
    }
  }

  @Test func `what was withdrawn before the commit lets nothing go`() async throws {
    try await with { (lab, ledger) async throws in
      _ = try await Consents(ledger).put(Self.given(at: -3000), of: Self.me, isRequired: false)
      _ = try await Consents(ledger).put(Self.given(false, at: -2000), of: Self.me, isRequired: false)
      #expect(try await ask(lab).state == .open)
    }
  }

  @Test func `Apple's decision ends the request, and a later question is a new one`() async throws {
    try await with { (lab, ledger) async throws in
      let first = try await ask(lab)
      _ = try await lab.workers[0].apply(Self.question("n2", at: Self.minute, Self.answering, .decided))
      #expect(try await all(ledger).map(\.state) == [.decided])
      #expect(try await take(ledger).isEmpty)
      let events = try await lab.workers[0].apply(Self.question("n3", at: 2 * Self.minute))
      #expect(events.map(\.topic) == [EventTopic.refundRequested])
      let requests = try await all(ledger)
      #expect(requests.map(\.state) == [.decided, .open] && requests[0].id == first.id)
    }
  }

  @Test func `Apple's decision ends a request that nobody answers, and a later question is a new one`() async throws {
    try await with { (lab, ledger) async throws in
      let first = try await ask(lab)
      _ = try await RefundAnswers(ledger).fulfil(.withhold, of: 7, first.id, now: CommitLab.now + Self.minute) { _ in }
      let declined = Self.question("n2", at: 2 * Self.minute, Self.answering, .decided)
      _ = try await lab.workers[0].apply(declined)
      let decided = try #require(try await all(ledger).first)
      #expect(decided.state == .decided && decided.endedAt == CommitLab.now + 2 * Self.minute)
      #expect(decided.answeredBy == .publisher)
      let events = try await lab.workers[0].apply(Self.question("n3", at: 3 * Self.minute))
      #expect(events.map(\.topic) == [EventTopic.refundRequested])
      #expect(try await all(ledger).map(\.state) == [.decided, .open])
    }
  }

  @Test func `a question behind the deadline ends the request before, in one commit`() async throws {
    try await with { (lab, ledger) async throws in
      _ = try await ask(lab)
      try await ledger.execute("UPDATE refund_requests SET requested_at = requested_at - interval '13 hours'")
      let events = try await lab.workers[0].apply(Self.question("n2", at: Self.minute))
      #expect(events.map(\.topic) == [EventTopic.refundRequested])
      #expect(Set(try await all(ledger).map(\.state)) == [.expired, .open])
    }
  }

  // MARK: Workers

  @Test func `a due request is taken by one worker, with its customer's decision`() async throws {
    try await with { (lab, ledger) async throws in
      let request = try await ask(lab)
      _ = try await Consents(ledger).put(Self.given(), of: Self.me, isRequired: false)
      async let one = take(ledger)
      async let other = take(ledger)
      let taken = try await one + other
      #expect(taken.map(\.request.id) == [request.id] && taken[0].consent == Self.given())
      #expect(try await take(ledger).isEmpty)
      // Its worker has died.
      try await ledger.execute("UPDATE refund_requests SET due_at = now() - interval '1 second'")
      #expect(try await take(ledger, most: 0).isEmpty)
      #expect(try await take(ledger).count == 1)
    }
  }

  /// Writes open requests of publishers, all of them due.
  private func insert(_ publishers: [PublisherId], _ ledger: PostgresClient) async throws {
    for (number, publisher) in publishers.enumerated() {
      try await ledger.execute(
        """
        INSERT INTO refund_requests (publisher_id, id, environment, original_transaction_id, transaction_id, bundle_id,
          product_id, kind, requested_at, seen_at, deadline, state, attempts, due_at)
        VALUES (\(publisher), 'rfr_\(number)', 'Production', '\(number)', '\(number)', 'b', 'p', 'Consumable',
          '2026-01-01', '2026-01-01', '2026-01-01', 'open', 0, '2026-01-01 00:00:\(number)')
        """)
    }
  }

  @Test func `every publisher gets its share, and no more`() async throws {
    try await with { (_, ledger) async throws in
      try await insert([8, 8, 8, 9], ledger)
      let requests = RefundRequests(ledger)
      func take(_ shares: [(PublisherId, Int)], limit: Int) async throws -> [RefundRequestId] {
        try await requests.takeDue(
          shares.map { PublisherShare(publisherId: $0.0, most: $0.1) }, limit: limit, lease: .seconds(600)
        ) { Issue.record($0) }.map(\.request.id).sorted()
      }
      #expect(try await take([(8, 2), (9, 2)], limit: 10) == ["rfr_0", "rfr_1", "rfr_3"])
      #expect(try await take([(9, 2)], limit: 10).isEmpty)
      #expect(try await take([(8, 2)], limit: 10) == ["rfr_2"])
      #expect(try await take([], limit: 10).isEmpty)
    }
  }

  @Test func `a request that this process cannot read keeps no other from being taken`() async throws {
    try await with { (_, ledger) async throws in
      try await insert([8, 8], ledger)
      // A newer process knows this kind.
      _ = try await ledger.run("UPDATE refund_requests SET kind = 'Later' WHERE id = 'rfr_0'")
      var failures: [String] = []
      let taken = try await RefundRequests(ledger).takeDue(
        [PublisherShare(publisherId: 8, most: 10)], limit: 10, lease: .seconds(600)
      ) { failures.append("\($0)") }
      #expect(taken.map(\.request.id) == ["rfr_1"])
      #expect(failures.count == 1 && failures[0].contains("rfr_0"))
    }
  }

  @Test func `the nearest deadline is that of all publishers, however many requests are open`() async throws {
    try await with { (_, ledger) async throws in
      try await insert([8, 8, 8, 9], ledger)
      _ = try await ledger.run("UPDATE refund_requests SET deadline = '2025-12-31' WHERE publisher_id = 9")
      let backlog = try await RefundRequests(ledger).backlog(of: [8, 9], atMost: 2)
      #expect(backlog.count == 2)
      #expect(backlog.deadline == 1_767_139_200_000)
      #expect(try await RefundRequests(ledger).backlog(of: [10], atMost: 2) == (0, nil))
    }
  }

  @Test func `nothing reads a table whole`() async throws {
    try await CommitLab.with(isChecked: false) { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100"))
      for client in lab.clients { await client.stop() }
      var session = lab.endpoint
      session.sessionSettings = Commits.sessionSettings
      try await LedgerDatabase.client(session) { (client) async throws in
        let commits = Commits(client, Commits.Settings(connections: 1, now: { CommitLab.now }))
        _ = try await Consents(client).put(Self.given(), of: Self.me, isRequired: false)
        let kinds: [RefundNotice.Kind] = [.asked(reason: nil), .decided, .asked(reason: nil), .asked(reason: nil)]
        for (number, kind) in kinds.enumerated() {
          let offset = Int64(number) * Self.minute
          _ = try await TakingCommits(commits).apply(Self.question("n\(number)", at: offset, Self.answering, kind))
        }
        let (requests, answers) = (RefundRequests(client), RefundAnswers(client))
        let open = try #require(try await answers.requests(of: 7, limit: 10).first)
        #expect(try await answers.requests(of: 7, in: .decided, limit: 10).count == 1)
        #expect(try await requests.backlog(of: [7, 8], atMost: 10).count == 1)
        let due = try #require(
          try await requests.takeDue([.init(publisherId: 7, most: 1)], limit: 1, lease: .seconds(1)) {
            Issue.record($0)
          }.first)
        #expect(try await requests.record(due.request.after(.failed("x"), now: CommitLab.now), at: due.revision))
        _ = try await answers.fulfil(.send(try #require(open.answer)), of: 7, open.id, now: CommitLab.now) { _ in }
        #expect(try await Consents(client).present(of: Self.me) != nil)
      }
      try await LedgerDatabase.client(lab.endpoint) { (reader) async throws in
        let relations = "relname IN ('refund_requests', 'consents')"
        try await eventually("the numbers are told") {
          let rows = try await reader.run(
            "SELECT sum(n_tup_ins)::bigint FROM pg_stat_user_tables WHERE \(relations)")
          return rows[0].int64(0) == 3
        }
        let scanned = try await reader.run(
          "SELECT sum(seq_tup_read)::bigint FROM pg_stat_user_tables WHERE \(relations)")
        #expect(scanned[0].int64(0) == 0)
      }
    }
  }

  @Test func `a worker whose lease is over writes nothing`() async throws {
    try await with { (lab, ledger) async throws in
      _ = try await ask(lab)
      let (requests, first) = (RefundRequests(ledger), try #require(try await take(ledger).first))
      try await ledger.execute("UPDATE refund_requests SET due_at = now() - interval '1 second'")
      let second = try #require(try await take(ledger).first)
      var next = second.request
      next.send(Self.answer, by: .policy, Self.given(), now: CommitLab.now)
      #expect(try await !requests.record(next.after(.sent, now: CommitLab.now), at: first.revision))
      #expect(try await all(ledger).map(\.state) == [.open])
      #expect(try await requests.record(next.after(.sent, now: CommitLab.now + 1), at: second.revision))
      #expect(try await !requests.record(next, at: second.revision))
      let kept = try #require(try await all(ledger).first)
      #expect(kept.state == .answered && kept.answer == Self.answer && kept.attempts == 1)
      #expect(kept.consent == Self.given() && kept.endedAt == CommitLab.now + 1 && kept.dueAt == nil)
      #expect(try await requests.backlog(of: [7], atMost: 10).count == 0)
    }
  }

  @Test func `a repeated question during a call loses nothing of its outcome`() async throws {
    try await with { (lab, ledger) async throws in
      let due = try await sending(lab)
      _ = try await lab.workers[0].apply(Self.question("n2", at: Self.minute))
      #expect(try await RefundRequests(ledger).record(due.request.after(.sent, now: CommitLab.now), at: due.revision))
      let kept = try #require(try await all(ledger).first)
      #expect(kept.state == .answered && kept.attempts == 1 && kept.seenAt == CommitLab.now + Self.minute)
      #expect(try await take(ledger).isEmpty)
    }
  }

  @Test func `an answer that the policy sends is a row of the audit log, once`() async throws {
    try await with { (lab, ledger) async throws in
      let due = try await sending(lab)
      let requests = RefundRequests(ledger)
      let sent = due.request.after(.sent, now: CommitLab.now)
      func entries() async throws -> [String] {
        try await ledger.texts(
          "SELECT actor || ' ' || action || ' ' || subject FROM audit WHERE action LIKE 'refundRequest.%'")
      }
      #expect(try await !requests.record(sent, at: due.revision - 1))
      #expect(try await entries().isEmpty)
      #expect(try await requests.record(sent, at: due.revision))
      #expect(try await !requests.record(sent, at: due.revision))
      #expect(try await entries() == ["policy refundRequest.answered \(due.request.id)"])
    }
  }

  @Test func `the publisher is told once that it has to answer after all`() async throws {
    try await with { (lab, ledger) async throws in
      let due = try await sending(lab)
      guard case .note(let open) = due.request.errand(Self.given(false), now: CommitLab.now) else {
        return #expect(Bool(false))
      }
      let told = try #require(try await tell(open, due, ledger))
      #expect(told.customerId == "me" && told.topic == EventTopic.refundRequested)
      #expect(try await tell(open, due, ledger) == nil)
      #expect(try await all(ledger).map(\.state) == [.open])
      // The first event said that the policy answers.
      let bodies = try await ledger.texts(
        "SELECT convert_from(body, 'UTF8')::jsonb #>> '{data,answering}' FROM events e JOIN outbox o ON o.event_id = e.id"
          + " WHERE topic = 'refundRequested' ORDER BY 1")
      #expect(bodies == ["false", "true"])
    }
  }

  @Test func `after an erasure nothing names the customer`() async throws {
    try await with { (lab, ledger) async throws in
      let due = try await sending(lab)
      _ = try await CustomerStore(ledger).erase(7, "me", now: CommitLab.now)
      let refused = due.request.after(.refused("x"), now: CommitLab.now)
      #expect(refused.customerId == "me")
      let told = try #require(try await tell(refused, due, ledger))
      #expect(told.customerId == nil && !String(decoding: told.body, as: UTF8.self).contains("customerId"))
      #expect(try await all(ledger).map(\.customerId) == [nil])
    }
  }

  @Test func `the backlog has the nearest deadline of the publishers named`() async throws {
    try await with { (lab, ledger) async throws in
      let request = try await ask(lab)
      let requests = RefundRequests(ledger)
      #expect(try await requests.backlog(of: [7, 8], atMost: 10).count == 1)
      #expect(try await requests.backlog(of: [7, 8], atMost: 10).deadline == request.deadline)
      #expect(try await requests.backlog(of: [8], atMost: 10).deadline == nil)
    }
  }

  // MARK: The publisher

  @Test func `the publisher's answer is kept once, with its row of the audit log`() async throws {
    try await with { (lab, ledger) async throws in
      let request = try await ask(lab)
      let answers = RefundAnswers(ledger)
      for _ in 0..<2 {
        let kept = try await answers.fulfil(.send(Self.answer), of: 7, request.id, now: CommitLab.now + 5) { _ in }
        #expect(kept?.state == .sending && kept?.answeredBy == .publisher && kept?.dueAt == CommitLab.now + 5)
      }
      await #expect(throws: RefundRequest.Refusal.isSending) {
        try await answers.fulfil(.withhold, of: 7, request.id, now: CommitLab.now) { _ in }
      }
      #expect(try await audit(ledger).filter { $0.hasPrefix("refundRequest.") } == ["refundRequest.answered"])
      #expect(try await answers.fulfil(.withhold, of: 8, request.id, now: CommitLab.now) { _ in } == nil)
      #expect(try await answers.request(8, request.id) == nil)
      #expect(try await answers.request(7, request.id)?.state == .sending)
    }
  }

  private struct Wrong: Error {}

  @Test func `a refused check changes nothing`() async throws {
    try await with { (lab, ledger) async throws in
      let request = try await ask(lab)
      await #expect(throws: Wrong.self) {
        try await RefundAnswers(ledger).fulfil(.withhold, of: 7, request.id, now: CommitLab.now) { _ in throw Wrong() }
      }
      #expect(try await all(ledger) == [request])
    }
  }

  @Test func `a list goes on where its page ended`() async throws {
    try await with { (_, ledger) async throws in
      for number in 1...5 {
        try await ledger.execute(
          """
          INSERT INTO refund_requests (publisher_id, id, environment, original_transaction_id, transaction_id, bundle_id,
            product_id, kind, requested_at, seen_at, deadline, state, attempts)
          VALUES (7, 'rfr_\(number)', 'Production', '\(number)', '\(number)', 'b', 'p', 'Consumable', '2026-01-01',
            '2026-01-01', '2026-01-0\(number % 2 + 1)', '\(number == 5 ? "answered" : "open")', 0)
          """)
      }
      let answers = RefundAnswers(ledger)
      func page(after place: RefundAnswers.Place?) async throws -> [RefundRequestId] {
        try await answers.requests(of: 7, after: place, limit: 3).map(\.id)
      }
      #expect(try await page(after: nil) == ["rfr_2", "rfr_4", "rfr_1"])
      let (first, second) = (
        try #require(milliseconds(rfc3339: "2026-01-01T00:00:00Z")),
        try #require(milliseconds(rfc3339: "2026-01-02T00:00:00Z"))
      )
      #expect(try await page(after: .init(deadline: first, id: "rfr_2")) == ["rfr_4", "rfr_1", "rfr_3"])
      #expect(try await page(after: .init(deadline: first, id: "rfr_4")) == ["rfr_1", "rfr_3"])
      #expect(try await page(after: .init(deadline: second, id: "rfr_3")).isEmpty)
      #expect(try await answers.requests(of: 7, in: .answered, limit: 9).map(\.id) == ["rfr_5"])
    }
  }

  // MARK: Consents

  @Test func `the latest decision counts, in whichever order the decisions come`() async throws {
    try await with { (_, ledger) async throws in
      let consents = Consents(ledger)
      #expect(try await consents.present(of: Self.me) == nil)
      let (early, late) = (Self.given(at: -5000), Self.given(false, at: -4000))
      #expect(try await consents.put(late, of: Self.me, isRequired: false).present == late)
      #expect(try await consents.put(early, of: Self.me, isRequired: false).present == late)
      #expect(try await consents.put(late, of: Self.me, isRequired: false).present == late)
      #expect(
        try await audit(ledger).filter { $0.hasPrefix("customer.consent") } == [
          "customer.consented", "customer.consentRefused",
        ])
      // The publisher has mended a mistake.
      let mended = Consent(isGiven: false, textVersion: "v2", time: late.time)
      #expect(try await consents.put(mended, of: Self.me, isRequired: false).present == mended)
      #expect(try await ledger.texts("SELECT count(*)::text FROM consents") == ["2"])
    }
  }

  @Test func `of two decisions of the same time the refusal counts, whichever comes last`() async throws {
    try await with { (_, ledger) async throws in
      let consents = Consents(ledger)
      for (number, order) in [[true, false], [false, true]].enumerated() {
        let customer = CustomerKey(publisherId: 7, id: "c\(number)")
        for isGiven in order { _ = try await consents.put(Self.given(isGiven), of: customer, isRequired: false) }
        #expect(try await consents.present(of: customer) == Self.given(false))
      }
      // What changed nothing is no row of the audit log.
      #expect(
        try await audit(ledger).filter { $0.hasPrefix("customer.consent") } == [
          "customer.consentRefused", "customer.consentRefused", "customer.consented",
        ])
    }
  }

  /// The clocks of a gateway and of the ledger differ a little.
  @Test func `a decision that is ahead of the ledger's clock counts at once`() async throws {
    try await with { (lab, ledger) async throws in
      let future = Consent(isGiven: true, textVersion: "v1", time: 32_000_000_000_000)
      #expect(try await Consents(ledger).put(future, of: Self.me, isRequired: false).present == future)
      #expect(try await Consents(ledger).present(of: Self.me) == future)
      #expect(try await ask(lab).consent == future)
      #expect(try await take(ledger).map(\.consent) == [future])
    }
  }

  @Test func `a publisher who registers customers can note consents of these only`() async throws {
    try await with { (_, ledger) async throws in
      let consents = Consents(ledger)
      #expect(try await !consents.put(Self.given(), of: Self.me, isRequired: true).isKnown)
      #expect(try await consents.present(of: Self.me) == nil)
      _ = try await CustomerStore(ledger).put(7, Customer(id: "me"))
      #expect(try await consents.put(Self.given(), of: Self.me, isRequired: true).isKnown)
    }
  }

  @Test func `a consent wakes the customer's open requests, and no worker overwrites that`() async throws {
    try await with { (lab, ledger) async throws in
      _ = try await ask(lab)
      let taken = try #require(try await take(ledger).first)
      _ = try await Consents(ledger).put(Self.given(), of: Self.me, isRequired: false)
      var next = taken.request
      next.ask()
      #expect(try await !RefundRequests(ledger).record(next, at: taken.revision))
      #expect(try await take(ledger).map(\.consent) == [Self.given()])
    }
  }

  @Test func `an erased customer has no consent, and its request stays`() async throws {
    try await with { (lab, ledger) async throws in
      _ = try await Consents(ledger).put(Self.given(), of: Self.me, isRequired: false)
      #expect(try await ask(lab).state == .sending)
      #expect(try await CustomerStore(ledger).erase(7, "me", now: CommitLab.now)?.consents == 1)
      let taken = try #require(try await take(ledger).first)
      #expect(taken.consent == nil && taken.request.customerId == nil)
      guard case .note(let next) = taken.request.errand(taken.consent, now: CommitLab.now) else {
        return #expect(Bool(false))
      }
      #expect(next.state == .open)
    }
  }
}

import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import JSON
import Ledger
import Postgres
import ServerSupport
import Testing

/// The erasure and the export of a person, on a real ledger with rows of another customer beside them.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ErasureTests {
  private let now: Int64 = 1_795_000_000_000
  /// An id that SQL and JSON write as it is.
  private let id = "jo|é"
  private let other = "other"

  private var standIn: String { "erased:" + Hex.encode(SHA256.hash(Array("1:\(id)".utf8))[..<16]) }

  /// Rows of two customers in every table that names one.
  private func with(_ body: @LoopActor (CustomerStore, PostgresClient) async throws -> Void) async throws {
    try await LedgerDatabase.migrated { ledger in
      try await ledger.execute("CREATE TABLE attempts_of_tests PARTITION OF attempts DEFAULT")
      let store = CustomerStore(ledger)
      let token: AppAccountToken = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
      _ = try await store.put(1, Customer(id: CustomerId(id), email: "Jo@Example.com", appAccountToken: token))
      _ = try await store.put(1, Customer(id: CustomerId(other), email: "other@example.com"))
      _ = try await store.put(2, Customer(id: CustomerId(id), email: "jo@example.com"))
      try await ledger.execute(
        """
        UPDATE customers SET version = 3, told = '[{"accessGranted":true,"billingProblem":false,
          "environment":"Production","expiresAt":\(now),"offerId":"S1"}]' WHERE publisher_id = 1 AND id = '\(id)'
        """)
      for (publisher, customer, number) in [(1, id, 100), (1, id, 101), (1, other, 102), (2, id, 100)] {
        try await insert(ledger, publisher, customer, number)
      }
      try await ledger.execute(
        """
        INSERT INTO ownerships (subscription_id, publisher_id, environment, original_transaction_id, customer_id,
          began_at, ended_at, cause)
        VALUES (9, 1, 'Production', '102', '\(id)', '2026-01-01', '2026-01-02', 'registration')
        """)
      try await body(store, ledger)
    }
  }

  private func insert(_ ledger: PostgresClient, _ publisher: Int, _ customer: String, _ number: Int) async throws {
    let subscription = publisher * 1000 + number
    try await ledger.execute(
      """
      INSERT INTO purchases (publisher_id, environment, original_transaction_id, customer_id, subscription_id, version,
        bundle_id, product_id, kind, transaction_id, purchase_date, is_upgraded, signed_date, payload_sha256)
      VALUES (\(publisher), 'Production', '\(number)', '\(customer)', \(subscription), 5, 'b', 'p', 'Non-Consumable',
        '\(number)', '2026-01-01', false, '2026-01-01', '\\x00')
      """)
    try await ledger.execute(
      """
      INSERT INTO transactions (publisher_id, environment, transaction_id, original_transaction_id, signed_date,
        payload_sha256, bundle_id, product_id, kind, purchase_date, is_upgraded)
      VALUES (\(publisher), 'Production', '\(number)', '\(number)', '2026-01-01', '\\x00', 'b', 'p', 'Non-Consumable',
        '2026-01-01', false)
      """)
    try await ledger.execute(
      """
      INSERT INTO ownerships (subscription_id, publisher_id, environment, original_transaction_id, customer_id, began_at,
        cause)
      VALUES (\(subscription), \(publisher), 'Production', '\(number)', '\(customer)', '2026-01-01', 'registration')
      """)
    let job = Job(
      synchronizationId: "s\(number)", publisherId: PublisherId(Int64(publisher)), customerId: CustomerId(customer),
      transactionId: TransactionId(String(number)),
      ipAddress: "203.0.113.7", registeredAt: 1)
    _ = try await ledger.run(
      PostgresQuery(
        PostgresStatement(
          "test: open synchronization",
          """
          INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status, job, due_at)
          VALUES ($1, $2, $3, $4, 'registration', 'retrying', $5, '2026-01-01')
          """),
        [
          .int64(job.publisherId.number), .text(job.synchronizationId.text), .text(job.transactionId.text),
          .text(customer),
          .bytes(job.encoded),
        ]))
    try await ledger.execute(
      """
      INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status, result, data,
        finalized_at)
      VALUES (\(publisher), 'f\(number)', '\(number)', '\(customer)', 'registration', 'finalized', 'PURCHASE_SYNCHRONIZED',
        '{"result":"PURCHASE_SYNCHRONIZED"}', '2026-01-01')
      """)
    try await ledger.execute(
      """
      INSERT INTO consents (publisher_id, customer_id, time, is_given, text_version)
      VALUES (\(publisher), '\(customer)', '2026-01-01 00:00:\(number - 100)', true, 'v1')
      """)
    try await ledger.execute(
      """
      INSERT INTO refund_requests (publisher_id, id, environment, original_transaction_id, transaction_id, bundle_id,
        product_id, kind, customer_id, requested_at, seen_at, deadline, state, attempts)
      VALUES (\(publisher), 'rfr_\(subscription)', 'Production', '\(number)', '\(number)', 'b', 'p', 'Non-Consumable',
        '\(customer)', '2026-01-01', '2026-01-01', '2026-01-01', 'open', 0)
      """)
    for event in ["done", "waiting"] {
      try await ledger.execute(
        """
        INSERT INTO events (id, publisher_id, customer_id, topic, time, body)
        VALUES ('\(event)\(subscription)', \(publisher), '\(customer)', 't', '2026-01-01', '{"data":{}}')
        """)
      try await ledger.execute(
        """
        INSERT INTO attempts (at, publisher_id, endpoint_id, event_id, round, topic, number, status, duration_ms, answer,
          outcome)
        VALUES (now(), \(publisher), 'e', '\(event)\(subscription)', '', 't', 1, 500, 1, 'for \(customer)', 'failed')
        """)
    }
    try await ledger.execute(
      """
      INSERT INTO deliveries (event_id, endpoint_id, publisher_id, due_at)
      VALUES ('waiting\(subscription)', 'e', \(publisher), now())
      """)
  }

  /// How many rows of the ledger hold a text in whichever column, by table.
  private func rows(_ ledger: PostgresClient, with text: String) async throws -> [String: Int64] {
    var found: [String: Int64] = [:]
    for table in try await ledger.texts(
      """
      SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
      """)
    {
      let hex = Hex.encode(Array(text.utf8))
      let count =
        try await ledger.execute(
          "SELECT count(*) FROM \(table) AS t WHERE t::text LIKE '%\(text)%' OR t::text LIKE '%\(hex)%'")[0].int64(0)
        ?? 0
      if count > 0 { found[table] = count }
    }
    return found
  }

  @Test func `an erased person is in no row, and nobody else is touched`() async throws {
    try await with { (store, ledger) async throws in
      let others = try await rows(ledger, with: other)
      let erasure = try #require(try await store.erase(1, CustomerId(id), now: now))
      #expect(erasure.purchases == 2 && erasure.ownerships == 3)
      #expect(erasure.synchronizations == 2 && erasure.openSynchronizations == 2)
      #expect(erasure.events == 2 && erasure.undeliveredEvents == 2 && erasure.answers == 4)
      #expect(erasure.auditEntries == 1 && erasure.consents == 2 && erasure.refundRequests == 2)
      #expect(try await store.customer(1, CustomerId(id)) == nil)
      #expect(try await store.customer(1, email: "jo@example.com") == nil)

      // What is left is the other publisher's customer, and the jobs under way with their ids.
      try await ledger.execute("DELETE FROM customers WHERE publisher_id = 2")
      let tables = ["purchases", "ownerships", "synchronizations", "events", "attempts", "audit", "consents"]
      for table in tables + ["refund_requests"] {
        try await ledger.execute("DELETE FROM \(table) WHERE publisher_id = 2")
      }
      #expect(try await rows(ledger, with: id) == ["synchronizations": 2])
      #expect(try await rows(ledger, with: "203.0.113.7") == ["synchronizations": 1])  // the other customer's
      #expect(try await rows(ledger, with: "Jo@Example") == [:])
      #expect(try await rows(ledger, with: other) == others)

      #expect(
        try await ledger.texts(
          """
          SELECT concat_ws('|', coalesce(customer_id, ''), coalesce(subscription_id, 0), version) FROM purchases
          ORDER BY original_transaction_id
          """) == ["|0|6", "|0|6", "other|1102|5"])
      #expect(
        try await ledger.texts(
          "SELECT concat_ws('|', coalesce(customer_id, ''), ended_at IS NULL) FROM ownerships ORDER BY subscription_id")
          == ["|f", "|f", "|f", "other|t"])
      #expect(
        try await ledger.texts("SELECT DISTINCT customer_id FROM synchronizations ORDER BY 1") == [standIn, "other"])
      #expect(
        try await ledger.execute("SELECT id_sha256, erased_at FROM erased_customers").map { [$0.bytes(0)!, []] }
          == [[SHA256.hash(Array("1:\(id)".utf8)), []]])
      #expect(try await ledger.execute("SELECT erased_at FROM erased_customers")[0].time(0) == now)
      let log = try await AuditLog(ledger).entries(1, before: nil, limit: 10).entries.map {
        let entry = try JSONObject(JSONText($0.json))
        return try "\(entry.requiredString("action")) \(entry.requiredString("subject"))"
      }
      #expect(log == ["customer.erased \(standIn)", "customer.put other", "customer.put \(standIn)"])
    }
  }

  @Test func `an event that was not delivered yet goes after its delivery, with the answers`() async throws {
    try await with { (store, ledger) async throws in
      func left() async throws -> [String] {
        try await ledger.texts(
          """
          SELECT e.id || coalesce(' ' || string_agg(a.answer, ','), '')
          FROM attempts AS a LEFT JOIN events AS e ON e.id = a.event_id
          WHERE a.publisher_id = 1 GROUP BY e.id ORDER BY e.id
          """)
      }
      func sweep() async throws -> Int {
        let long: Duration = .seconds(10 * 365 * 86_400)
        return try await Retention(ledger).deleteOldest(synchronizations: long, events: long, limit: 100)
      }
      _ = try await store.erase(1, CustomerId(id), now: now)
      // One event waits for its endpoint, the other one for the broker.
      try await ledger.execute("DELETE FROM deliveries WHERE event_id = 'waiting1101'")
      try await ledger.execute("INSERT INTO outbox (event_id) VALUES ('waiting1101')")
      #expect(try await sweep() == 0)
      // The last line is the attempts of deleted events.
      #expect(
        try await left() == ["done1102 for other", "waiting1100", "waiting1101", "waiting1102 for other", "null"])

      try await ledger.execute(
        """
        INSERT INTO attempts (at, publisher_id, endpoint_id, event_id, round, topic, number, status, duration_ms, answer,
          outcome)
        VALUES (now(), 1, 'e', 'waiting1100', '', 't', 2, 200, 1, 'Thanks, Jo', 'delivered')
        """)
      try await ledger.execute("DELETE FROM deliveries WHERE event_id = 'waiting1100'")
      try await ledger.execute("DELETE FROM outbox")
      #expect(try await sweep() == 2)
      #expect(try await left() == ["done1102 for other", "waiting1102 for other", "null"])
      #expect(try await rows(ledger, with: "Thanks, Jo") == [:])
      #expect(try await sweep() == 0)
    }
  }

  @Test func `a job under way stays readable, without the address`() async throws {
    try await with { (store, ledger) async throws in
      _ = try await store.erase(1, CustomerId(id), now: now)
      let rows = try await ledger.execute(
        "SELECT job FROM synchronizations WHERE publisher_id = 1 AND customer_id = '\(standIn)' AND job IS NOT NULL")
      #expect(rows.count == 2)
      for row in rows {
        let job = try Job(JSONText(row.bytes(0) ?? []), doors: DoorCatalog())
        #expect(job.ipAddress == nil && job.defect == nil && job.customerId == CustomerId(id))
      }
    }
  }

  @Test func `the erasure of an unknown person counts for jobs under way, and a second one finds nothing`() async throws
  {
    try await with { (store, ledger) async throws in
      #expect(try await store.erase(1, "nobody", now: now) == nil)
      #expect(try await store.customer(1, "nobody") == nil)
      #expect(try await ledger.execute("SELECT erased_at FROM erased_customers").map { $0.time(0) } == [now])
      #expect(try await store.erase(1, CustomerId(id), now: now) != nil)
      #expect(try await store.erase(1, CustomerId(id), now: now + 1) == nil)
      #expect(
        try await ledger.execute("SELECT erased_at FROM erased_customers ORDER BY 1").map { $0.time(0) }
          == [now, now + 1])
    }
  }

  @Test func `a customer without a row is erased too`() async throws {
    try await with { (store, ledger) async throws in
      try await ledger.execute("DELETE FROM customers WHERE publisher_id = 1")
      #expect(try await store.erase(1, CustomerId(id), now: now)?.purchases == 2)
      #expect(try await ledger.texts("SELECT id FROM customers WHERE publisher_id = 1") == [])
    }
  }

  @Test func `a person who came back can be erased again`() async throws {
    try await with { (store, ledger) async throws in
      #expect(try await store.erase(1, CustomerId(id), now: now) != nil)
      #expect(try await store.put(1, Customer(id: CustomerId(id), email: "jo@example.com")) == .created)
      // The same Correlation-Id and transaction as before the first erasure.
      try await ledger.execute(
        """
        INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status)
        VALUES (1, 'f100', '100', '\(id)', 'registration', 'finalized'),
          (1, 'new', '100', '\(id)', 'registration', 'finalized')
        """)
      let erasure = try #require(try await store.erase(1, CustomerId(id), now: now + 1000))
      #expect(erasure.synchronizations == 2 && erasure.purchases == 0)
      #expect(try await ledger.execute("SELECT erased_at FROM erased_customers").map { $0.time(0) } == [now + 1000])
    }
  }

  // MARK: Export

  /// A member, or an element of an array, found by its path.
  private func value(_ json: JSONValue, _ path: Any...) -> JSONValue? {
    var value = json
    for step in path {
      switch (value, step) {
      case (.object(let members), let name as String): value = members[name] ?? .null
      case (.array(let elements), let place as Int): value = place < elements.count ? elements[place] : .null
      default: return nil
      }
    }
    return value
  }

  private func count(_ json: JSONValue, _ name: String) -> Int? {
    if case .array(let elements)? = value(json, name) { elements.count } else { nil }
  }

  @Test func `an export has everything about the person, and nothing about others`() async throws {
    try await with { (store, _) async throws in
      let bytes = try #require(try await store.export(1, CustomerId(id), now: now))
      let document: JSONValue = try JSONText(bytes).decoded()
      #expect(!String(decoding: bytes, as: UTF8.self).contains(other))
      #expect(value(document, "exportedAt") == .string(rfc3339(milliseconds: now)))
      #expect(value(document, "customer", "customerId") == .string(id))
      #expect(value(document, "customer", "email") == .string("Jo@Example.com"))
      #expect(value(document, "customer", "appAccountToken") == .string("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"))
      #expect(value(document, "customer", "customerVersion") == .integer(3))
      #expect(value(document, "customer", "entitlements", 0, "offerId") == .string("S1"))
      let expiresAt = value(document, "customer", "entitlements", 0, "expiresAt")
      #expect(expiresAt == .string(rfc3339(milliseconds: now)))
      #expect(count(document, "purchases") == 2)
      for (place, number) in ["100", "101"].enumerated() {
        #expect(value(document, "purchases", place, "originalTransactionId") == .string(number))
        #expect(value(document, "purchases", place, "type") == .string("Non-Consumable"))
        #expect(value(document, "purchases", place, "transactions", 0, "type") == .string("Non-Consumable"))
        #expect(value(document, "purchases", place, "transactions", 0, "transactionId") == .string(number))
        #expect(value(document, "purchases", place, "transactions", 1) == .null)
      }
      #expect(count(document, "ownerships") == 3)
      #expect(count(document, "synchronizations") == 4)
      #expect(value(document, "synchronizations", 0, "result") == .string("PURCHASE_SYNCHRONIZED"))
      #expect(value(document, "synchronizations", 2, "job", "ipAddress") == .string("203.0.113.7"))
      #expect(count(document, "events") == 4)
      #expect(value(document, "events", 0, "body", "data") == .object([:]))
      #expect(count(document, "attempts") == 4)
      #expect(value(document, "attempts", 0, "response") == .string("for \(id)"))
      #expect(count(document, "consents") == 2 && count(document, "refundRequests") == 2)
      #expect(value(document, "consents", 0, "textVersion") == .string("v1"))
      #expect(value(document, "consents", 0, "consented") == .bool(true))
      #expect(value(document, "refundRequests", 0, "state") == .string("open"))
      #expect(count(document, "audit") == 1)
      #expect(value(document, "audit", 0, "action") == .string("customer.put"))
    }
  }

  @Test func `after an erasure there is nothing to export`() async throws {
    try await with { (store, _) async throws in
      #expect(try await store.export(1, "nobody", now: now) == nil)
      _ = try await store.erase(1, CustomerId(id), now: now)
      #expect(try await store.export(1, CustomerId(id), now: now) == nil)
      #expect(try await store.export(1, CustomerId(other), now: now) != nil)
    }
  }
}

import Domain
import EventLoop
import Fleets
import JSON
import Postgres
import ServerSupport
import Testing

@testable import Ledger

/// All of a publisher as JSON lines: what they say, that they are from one moment, and how they go on after a break.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PublisherExportTests {
  private struct Killed: Error {}

  /// What an export wrote, also one that broke off.
  private final class Written {
    var bytes: [UInt8] = []
    var largest = 0

    /// The lines, including lines without an end.
    var lines: [String] { String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init) }

    /// The file as it is read before an export goes on: without half a line.
    @LoopActor
    func soFar() throws -> ExportedSoFar {
      bytes.removeLast(bytes.count - (bytes.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0))
      var soFar = ExportedSoFar(publisher: 7)
      for line in bytes.split(separator: 0x0a) { try soFar.take(Array(line)) }
      try soFar.finish()
      return soFar
    }
  }

  /// Exports publisher 7, with small pages.
  ///
  /// - Parameters:
  ///   - most: how many bytes the file takes before the export is killed.
  ///   - between: what happens behind each page.
  @discardableResult
  private func export(
    _ ledger: PostgresClient, to written: Written, after soFar: ExportedSoFar? = nil, atMost most: Int = .max,
    between: @escaping @LoopActor () async throws -> Void = {}
  ) async throws -> [ExportKind: Int64] {
    var pages = PublisherExport.Pages()
    (pages.things, pages.purchases) = (100, 20)
    return try await PublisherExport(ledger, LedgerOfPurchases.publisher(), pages: pages).run(
      after: soFar,
      PublisherExport.Caller(
        write: { bytes in
          written.largest = max(written.largest, bytes.count)
          written.bytes += bytes.prefix(most - written.bytes.count)
          guard written.bytes.count < most else { throw Killed() }
        }, rest: { _ in try await between() }))
  }

  /// A ledger with customers who own purchases, and a client for changes beside an export.
  private func withLedger(
    customers: Int, _ body: @LoopActor (LedgerOfPurchases, PostgresClient) async throws -> Void
  ) async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint, connections: 2) { client in
        let ledger = LedgerOfPurchases(client)
        for number in 1...customers { try await ledger.register("\(1000 + number)", for: "c\(1000 + number)") }
        try await LedgerDatabase.client(endpoint) { try await body(ledger, $0) }
      }
    }
  }

  /// Adds customers without purchases.
  private func put(_ count: Int, of publisher: Int, _ ledger: LedgerOfPurchases) async throws {
    try await ledger.postgres.run(
      """
      INSERT INTO customers (publisher_id, id, is_registered)
      SELECT \(publisher), 'd' || n, true FROM generate_series(1, \(count)) n
      """)
  }

  private func put(_ id: String, _ ledger: PostgresClient) async throws {
    try await ledger.execute("INSERT INTO customers (publisher_id, id, is_registered) VALUES (7, '\(id)', true)")
  }

  private func kinds(_ lines: [String]) -> [String: Int] {
    lines.reduce(into: [:]) { $0[String($1.dropFirst(9).prefix { $0 != "\"" }), default: 0] += 1 }
  }

  @Test func `each line says all that the ledger has`() async throws {
    try await withLedger(customers: 1) { ledger, _ in
      // What the test's evidence has for a header is not a text.
      try await ledger.postgres.run("UPDATE certificate_chains SET header = 'e30'")
      try await ledger.postgres.run("UPDATE purchases SET expires_date = '2100-01-01Z'")
      try await ledger.postgres.run(
        "UPDATE customers SET created_at = '2026-11-01Z', updated_at = '2026-11-01Z', email = 'ann@example.com'")
      let written = Written()
      let counts = try await export(ledger.postgres, to: written)
      #expect(counts == [.customer: 1, .purchase: 1, .grant: 0, .sandboxAccess: 0, .event: 2, .audit: 1])
      let lines = written.lines
      #expect(lines.count == 7)
      #expect(lines[0].hasPrefix(#"{"kind":"export","format":1,"publisherId":7,"moment":{"at":"20"#))
      #expect(
        lines[1] == """
          {"kind":"customer","key":["c1001"],"customerId":"c1001","createdAt":"2026-11-01T00:00:00.000Z",\
          "customerVersion":1,"email":"ann@example.com","entitlements":[{"accessGranted":true,"billingProblem":false,\
          "environment":"Production","expiresAt":"2026-12-01T10:00:00.000Z","offerId":"S1"}],"isRegistered":false,\
          "updatedAt":"2026-11-01T00:00:00.000Z","access":[{"accessGranted":true,"billingProblem":false,\
          "environment":"Production","expiresAt":"2100-01-01T00:00:00.000Z","offerId":"S1"}]}
          """)
      let purchase = lines[2]
      #expect(
        purchase.hasPrefix(
          #"{"kind":"purchase","key":["Production","1001"],"environment":"Production","originalTransactionId""#))
      #expect(purchase.contains(#""customerId":"c1001""#))
      #expect(purchase.contains(#""jws":"e30.Ag.Aw""#) && purchase.contains(#""source":"serverAPI""#))
      #expect(purchase.contains(#""owners":[{"customerId":"c1001","#))
      #expect(purchase.contains(#""transactions":[{"transactionId":"1001","#))
      #expect(lines[3].hasPrefix(#"{"kind":"event","key":[""#) && lines[3].contains(#""body":{"#))
      #expect(lines[5].hasPrefix(#"{"kind":"audit","key":["1"],"action":"purchase.registered","actor":"publisher""#))
      #expect(
        lines[6]
          == #"{"kind":"end","lines":{"audit":1,"customer":1,"event":2,"grant":0,"purchase":1,"sandboxAccess":0}}"#)
      #expect(try written.soFar().isWhole)
    }
  }

  @Test func `a customer's access is the one at the moment, and told is what events said`() async throws {
    try await withLedger(customers: 1) { ledger, _ in
      try await ledger.postgres.run("UPDATE purchases SET expires_date = now() - interval '1 hour'")
      let written = Written()
      try await export(ledger.postgres, to: written)
      let line = written.lines[1]
      let told = try #require(line.firstRange(of: "\"entitlements\":[{\"accessGranted\":true"))
      let access = try #require(line.firstRange(of: "\"access\":[{\"accessGranted\":false"))
      #expect(told.upperBound < access.lowerBound)
    }
  }

  @Test func `no secret is in an export`() async throws {
    try await withLedger(customers: 1) { ledger, _ in
      try await ledger.postgres.run(
        """
        INSERT INTO webhook_endpoints (publisher_id, id, revision, url, name, topics, format, signature, secrets, retry,
          max_concurrency, accepts_self_signed, source, created_at, updated_at)
        VALUES (7, 'e', 1, 'https://example.com', 'n', '{}', 'f', 's', 'whsec_hidden', 'r', 1, false, 'api', now(),
          now())
        """)
      let written = Written()
      try await export(ledger.postgres, to: written)
      let text = String(decoding: written.bytes, as: UTF8.self)
      #expect(!text.contains("hidden") && !text.contains("whsec"))
    }
  }

  @Test func `thousands of lines are from one moment, whatever is committed meanwhile`() async throws {
    try await withLedger(customers: 30) { ledger, other in
      try await put(5000, of: 7, ledger)
      try await put(50, of: 8, ledger)
      let written = Written()
      var round = 0
      let counts = try await export(ledger.postgres, to: written) {
        round += 1
        // Before, at and behind the reader's place.
        try await put("a\(round)", other)
        try await put("z\(round)", other)
        try await other.execute("UPDATE purchases SET version = 1000 + \(round)")
        try await other.execute("UPDATE customers SET version = 1000 + \(round) WHERE id LIKE 'd1%'")
      }
      #expect(round > 50 && counts[.customer] == 5030 && counts[.purchase] == 30)
      #expect(kinds(written.lines)["customer"] == 5030 && written.largest < written.bytes.count / 10)
      #expect(!written.lines.contains { $0.contains("\"customerVersion\":10") || $0.contains("\"version\":10") })
    }
  }

  /// What a reader of a file ends with: the last line of each key.
  private func things(_ written: Written) throws -> [String: String] {
    struct Head: Decodable {
      let kind: String
      let key: [String]?
    }
    var things: [String: String] = [:]
    for line in written.lines {
      let head: Head = try JSONText(Array(line.utf8), limits: .own).decoded()
      if let key = head.key { things["\(head.kind) \(key)"] = line }
    }
    return things
  }

  @Test func `an export that is killed again and again ends as if it had begun at its last moment`() async throws {
    try await withLedger(customers: 60) { ledger, other in
      try await put(500, of: 7, ledger)
      let whole = Written()
      try await export(ledger.postgres, to: whole)
      // Killed at many places, with half a line; between, people go on.
      let written = Written()
      var (kills, soFar) = (0, ExportedSoFar?.none)
      for round in 1...12 {
        let most = round == 1 ? 1 : written.bytes.count + whole.bytes.count / 12
        do {
          try await export(ledger.postgres, to: written, after: soFar, atMost: most)
          break
        } catch is Killed {
          kills += 1
        }
        soFar = try written.soFar()
        try await put("a\(kills)", other)
        try await put("e\(kills)", other)
        try await other.execute("UPDATE customers SET version = \(kills) WHERE id = 'd\(kills)'")
        try await other.execute(
          "UPDATE purchases SET offer_id = 'S\(kills)' WHERE original_transaction_id = '\(1000 + kills)'")
        // Evidence that the purchase's own row does not show.
        try await other.execute(
          "UPDATE evidence SET status = \(kills) WHERE original_transaction_id = '\(1060 - kills)'")
        try await ledger.register("\(5000 + kills)", for: "b\(kills)")
      }
      if soFar?.isWhole != true { try await export(ledger.postgres, to: written, after: soFar) }
      #expect(kills > 8)
      #expect(try written.soFar().isWhole)
      let fresh = Written()
      try await export(ledger.postgres, to: fresh)
      #expect(try things(written) == things(fresh))
    }
  }

  @Test func `a transaction that ends behind the break is caught up, whatever its number is`() async throws {
    try await withLedger(customers: 3) { ledger, other in
      let written = Written()
      try await other.transaction { late in
        let update = PostgresStatement("late", "UPDATE customers SET version = 77 WHERE id = 'c1001'")
        _ = try await late.query(PostgresQuery(update))
        // It has its number already, and others get greater ones.
        try await ledger.register("2000", for: "d")
        await #expect(throws: Killed.self) { try await export(ledger.postgres, to: written, atMost: 900) }
      }
      let soFar = try written.soFar()
      #expect(soFar.position?.kind == .customer)
      try await export(ledger.postgres, to: written, after: soFar)
      #expect(try things(written)["customer [\"c1001\"]"]?.contains("\"customerVersion\":77") == true)
    }
  }

  @Test func `an erasure behind the break refuses to go on, and so does another history`() async throws {
    try await withLedger(customers: 3) { ledger, other in
      let written = Written()
      await #expect(throws: Killed.self) { try await export(ledger.postgres, to: written, atMost: 900) }
      let soFar = try written.soFar()
      try await other.execute(
        "INSERT INTO erased_customers (publisher_id, id_sha256, erased_at) VALUES (8, sha256('\\x01'), now())")
      try await export(ledger.postgres, to: Written(), after: soFar)
      try await other.execute(
        "INSERT INTO erased_customers (publisher_id, id_sha256, erased_at) VALUES (7, sha256('\\x01'), now())")
      let error = await #expect(throws: ExportRefused.self) {
        try await export(ledger.postgres, to: Written(), after: soFar)
      }
      #expect(error?.description.contains("a customer was erased") == true)
      // A new file begins behind the erasure.
      let fresh = Written()
      try await export(ledger.postgres, to: fresh)
      var restored = ExportedSoFar(publisher: 7)
      try restored.take(
        ExportLine.begun(7, ExportMoment(snapshot: 1, history: "another", at: "2026-11-28T08:00:00Z")))
      let other = await #expect(throws: ExportRefused.self) {
        try await export(ledger.postgres, to: Written(), after: restored)
      }
      #expect(other?.description.contains("restored or failed over") == true)
    }
  }
}

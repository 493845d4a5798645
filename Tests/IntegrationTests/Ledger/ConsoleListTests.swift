import Domain
import EventLoop
import Fleets
import Postgres
import ServerSupport
import Testing

@testable import Ledger

/// The lists of the console, over a ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct ConsoleListTests {
  private typealias Given = LedgerOfPurchases

  /// Reads all pages of a list.
  private func all<Row: Sendable>(
    _ read: @LoopActor (ConsolePlace?) async throws -> ConsoleRows<Row>
  ) async throws -> [[Row]] {
    var pages: [[Row]] = []
    var place: ConsolePlace?
    repeat {
      let page = try await read(place)
      pages.append(page.rows)
      place = page.next
      // Each page moves on, so no list has as many.
      try #require(pages.count < 50)
    } while place != nil
    return pages
  }

  @Test func `refund requests come by their deadlines, from the publishers that a person may see`() async throws {
    try await Given.with { ledger in
      for (publisher, id, minutes, state) in [
        (7, "b", 10, "open"), (7, "a", 10, "sending"), (8, "c", 5, "open"), (9, "d", 1, "open"), (8, "e", 10, "open"),
        (7, "f", 1, "answered"), (8, "g", 2, "answered"), (7, "h", 2, "expired"),
      ] as [(PublisherId, String, Int64, String)] {
        _ = try await ledger.postgres.run(
          PostgresQuery(
            .askForRefund,
            [.int64(publisher.number), .text(id), .time(Given.now + minutes * 60_000), .text(state)]))
      }
      let refunds = ConsoleRefunds(ledger.postgres)
      let pending = try await all { try await refunds.pending(of: [7, 8], after: $0, limit: 2) }
      #expect(pending.map { $0.map(\.id.text) } == [["c", "a"], ["b", "e"]])
      let answered = try await all { try await refunds.requests(of: [8, 7], in: .answered, after: $0, limit: 1) }
      #expect(answered.map { $0.map(\.id.text) } == [["g"], ["f"]])
      #expect(try await refunds.pending(of: [9], after: nil, limit: 5).rows.map(\.purchase.publisherId) == [9])
      #expect(try await refunds.pending(of: [], after: nil, limit: 5).rows == [])
      // Those about one purchase, by its transactions.
      let purchase = PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: "100")
      #expect(
        try await refunds.requests(about: purchase, ["a", "b", "c", "f"], limit: 5).map(\.id.text) == ["b", "a", "f"])
      #expect(try await refunds.requests(about: purchase, [], limit: 5) == [])
      // Any number of an address is a place.
      for number in [Int64.min, -1, .max] {
        _ = try await refunds.pending(of: [7], after: ConsolePlace(number, 7, "x"), limit: 5)
        _ = try await refunds.requests(of: [7], in: .answered, after: ConsolePlace(number, 7, "x"), limit: 5)
      }
    }
  }

  @Test func `what is paid and has no owner is found, however little a page looks through`() async throws {
    try await Given.with { ledger in
      for id in ["110", "130", "150"] { try await ledger.register(id, for: "ann") }
      for id in ["100", "120", "140"] { try await ledger.register(id, for: .nobody) }
      try await ledger.register("160", for: .nobody, endsIn: 0)
      try await ledger.register("170", for: .nobody, in: "Sandbox")
      let unclaimed = ConsoleUnclaimed(ledger.postgres)
      func pages(_ limit: Int, _ window: Int, publisher: PublisherId = 7, _ environment: Environment = "Production")
        async throws -> [[String]]
      {
        try await all {
          try await unclaimed.purchases(
            of: publisher, in: environment, after: $0, now: Given.now, limit: limit, window: window)
        }.map { $0.map(\.key.originalTransactionId.text) }
      }
      #expect(try await pages(5, 100) == [["140", "120", "100"]])
      #expect(try await pages(2, 100) == [["140", "120"], ["100"]])
      // Each page takes ten looks at most, and there are seven purchases.
      #expect(try await pages(5, 1) == [["140", "120", "100"]])
      #expect(try await pages(1, 2) == [["140"], ["120"], ["100"]])
      #expect(try await pages(5, 100, "Sandbox") == [["170"]])
      #expect(try await pages(5, 100, publisher: 8) == [[]])
      let page = try await unclaimed.purchases(of: 7, in: "Production", after: nil, now: Given.now, limit: 1)
      #expect(page.rows.first?.productId == "monthly" && page.rows.first?.hadOwner == false)
      #expect(page.rows.first?.boughtAt == Given.now - Given.day)
    }
  }

  @Test func `a page of unclaimed purchases ends, and the next one goes on`() async throws {
    try await Given.with { ledger in
      for number in 10..<23 { try await ledger.register("\(number)0", for: .nobody, endsIn: 0) }
      try await ledger.register("050", for: .nobody)
      let unclaimed = ConsoleUnclaimed(ledger.postgres)
      let first = try await unclaimed.purchases(
        of: 7, in: "Production", after: nil, now: Given.now, limit: 5, window: 1)
      #expect(first.rows == [] && first.next == ConsolePlace((Given.now - Given.day) * 1000, 7, "130"))
      let second = try await unclaimed.purchases(
        of: 7, in: "Production", after: first.next, now: Given.now, limit: 5, window: 1)
      #expect(second.rows.map(\.key) == [Given.key("050")] && second.next == nil)
    }
  }

  /// PostgreSQL may not sort here. So each list is in the order of its index.
  @Test func `unclaimed purchases, notifications and the audit log come from their own indexes`() async throws {
    try await Given.with { ledger in
      for (list, index, values) in [
        (.listConsoleUnclaimed, "purchases_unclaimed", ["7", "'Production'", "1", "'x'", "5", "now()", "5"]),
        (.listConsoleNewest, "notifications_page", ["'{7}'", "1", "7", "'x'", "5"]),
        (.listConsoleAudit, "audit_newest", ["'{0,7}'", "-100", "5"]),
        (.readAudit, "audit_newest", ["7", "-100", "5"]),
        (.readConsolePurchaseChanges, "audit_purchase", ["7", "'ann'", "5"]),
        (.readConsoleRepeats, "audit_again", ["7", "'ann'", "5"]),
        (ExportKind.audit.statement(ExportRange()), "audit_newest", ["7", "5", "-1"]),
        (ExportKind.audit.statement(ExportRange(through: ["9"])), "audit_newest", ["7", "5", "-1", "0", "9"]),
      ] as [(PostgresStatement, String, [String])] {
        let sql = values.enumerated().reduce(list.sql) { $0.replacing("$\($1.offset + 1)", with: $1.element) }
        let plan = try await ledger.postgres.transaction { transaction in
          for setting in ["sort", "seqscan", "bitmapscan", "incremental_sort"] {
            _ = try await transaction.query(
              PostgresQuery(PostgresStatement("forbid \(setting)", "SET LOCAL enable_\(setting) = off")))
          }
          return try await transaction.commit([
            PostgresQuery(PostgresStatement("explain \(list.name)", "EXPLAIN \(sql)"))
          ])
        }
        #expect(plan.last?.contains { $0.text(0)?.contains(" using \(index)") == true } == true, "\(index)")
      }
    }
  }

  @Test func `imports come from the newest on, from the publishers that a person may see`() async throws {
    try await Given.with { ledger in
      let store = ImportStore(ledger.postgres)
      for (publisher, id, minutes) in [(7, "imp_a", 1), (8, "imp_b", 1), (7, "imp_c", 2), (9, "imp_d", 3)]
        as [(PublisherId, ImportId, Int64)]
      {
        let one = UploadedImport(
          id: id, publisherId: publisher, wish: UploadedImport.Wish(preset: .plain),
          createdAt: Given.now + minutes * 60_000)
        #expect(try await store.create(one) == .enough)
      }
      let imports = ConsoleImports(ledger.postgres)
      let pages = try await all { try await imports.imports(of: [7, 8], after: $0, limit: 2) }
      #expect(pages.map { $0.map(\.id.text) } == [["imp_c", "imp_b"], ["imp_a"]])
      #expect(try await imports.imports(of: [], after: nil, limit: 2).rows == [])
      for number in [Int64.min, -1, .max] {
        _ = try await imports.imports(of: [7], after: ConsolePlace(number, 7, "x"), limit: 5)
      }
    }
  }

  @Test func `the audit log comes from the newest on, also of one customer`() async throws {
    try await Given.with { ledger in
      let detail = Array("{}".utf8)
      let entries = [
        AuditEntry(publisherId: 7, actor: .publisher, token: "shop", action: "customer.put", subject: "ann"),
        AuditEntry(publisherId: 8, actor: .publisher, action: "customer.put", subject: "ann"),
        AuditEntry(publisherId: 0, operator: "kim:a", action: "jobs.retried", subject: "jobs", detail: detail),
        AuditEntry(publisherId: 7, operator: "ada", action: "customer.granted", subject: "ann", detail: detail),
        AuditEntry(publisherId: 7, actor: .publisher, action: "endpoint.created", subject: "ann"),
        AuditEntry(publisherId: 9, actor: .publisher, action: "customer.put", subject: "bob"),
      ]
      for entry in entries { _ = try await ledger.postgres.run(AuditEntry.insert([entry])) }
      let log = ConsoleAudit(ledger.postgres)
      func actions(_ publishers: [PublisherId], _ customer: CustomerId? = nil, limit: Int = 2) async throws
        -> [[String]]
      {
        try await all { try await log.entries(of: publishers, about: customer, after: $0, limit: limit) }
          .map { $0.map { "\($0.action) \($0.publisherId)" } }
      }
      #expect(
        try await actions([7, 8, 0]) == [
          ["endpoint.created 7", "customer.granted 7"], ["jobs.retried 0", "customer.put 8"], ["customer.put 7"],
        ])
      #expect(try await actions([8]) == [["customer.put 8"]])
      #expect(try await actions([7], "ann", limit: 1) == [["customer.granted 7"], ["customer.put 7"]])
      #expect(try await actions([7], "bob") == [[]])
      let rows = try await log.entries(of: [0, 7], after: nil, limit: 5).rows
      #expect(rows.map(\.name) == [nil, "ada", "kim:a", "shop"])
      #expect(rows.map(\.actor) == ["publisher", "operator", "operator", "publisher"])
    }
  }
}

extension PostgresStatement {
  fileprivate static let askForRefund = PostgresStatement(
    "ask for a refund in a test",
    """
    INSERT INTO refund_requests (publisher_id, id, environment, original_transaction_id, transaction_id, bundle_id,
      product_id, kind, requested_at, seen_at, deadline, state, attempts)
    VALUES ($1, $2, 'Production', '100', $2, 'com.example', 'monthly', 'Auto-Renewable Subscription',
      $3 - interval '12 hours', $3, $3, $4, 0)
    """)
}

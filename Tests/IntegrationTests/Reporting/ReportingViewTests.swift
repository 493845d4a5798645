import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// The views for analysts: the page that documents them, who may read them, and what they say.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ReportingViewTests {
  @Test func `the page has each view with each column, in their order`() async throws {
    let page = try ReportingPage()
    try await LedgerDatabase.migrated { ledger in
      let schema = try await ledger.texts(
        """
        SELECT c.relname || '.' || a.attname || ' ' || CASE format_type(a.atttypid, a.atttypmod)
          WHEN 'timestamp with time zone' THEN 'timestamptz' ELSE format_type(a.atttypid, a.atttypmod) END
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'reporting'::regnamespace AND c.relname <> 'contract' ORDER BY c.relname, a.attnum
        """)
      let documented = Dictionary(grouping: page.columns) { $0.prefix { $0 != "." } }
      #expect(documented.keys.sorted().flatMap { documented[$0] ?? [] } == schema)
      #expect(Set(documented.keys.map(String.init)) == Set(ReportingView.allCases.map(\.rawValue)))
      #expect(try await ledger.texts("SELECT version || ' and ' || revision FROM reporting.contract") == ["1 and 1"])
    }
  }

  /// The rows of a question of the page, each as one text.
  private func answer(_ question: String, _ ledger: PostgresClient) async throws -> [String] {
    let query = try #require(try ReportingPage().query(question))
    return try await ledger.texts("SELECT replace(trim(both '()' from row(a.*)::text), '\"', '') FROM (\(query)) a")
  }

  @Test func `each question has the answer that is known by hand`() async throws {
    try await LedgerDatabase.migrated { ledger in
      // Without a row, nothing divides by zero.
      #expect(try await answer("Churn", ledger) == ["0,0,"])
      #expect(try await answer("Trials converted", ledger) == ["0,0,"])
      try await ReportingLives.write(to: ledger)
      // 1000, 2000, 3000, 6000 and 9000 were paid for; 2000 and 6000 are lost.
      #expect(try await answer("Churn", ledger) == ["5,2,40.0"])
      #expect(try await answer("Trials converted", ledger) == ["2,1,50.0"])
      #expect(try await answer("Refunds", ledger) == ["EUR,2,12.485", "USD,1,0.990"])
      // 59.99 / 12; 9.99 + 9.99 + 19.99 + 1.99 * 30.4375 / 7.
      #expect(try await answer("MRR", ledger) == ["DEU,EUR,1,5.00", "USA,USD,4,48.62"])
    }
  }

  @Test func `the account of the page reads the views, and no table`() async throws {
    let role = "analyst_\(UInt64.random(in: 0 ... .max))"
    let account = try #require(try ReportingPage().examples.first { $0.contains("CREATE ROLE analyst") })
    let statements = account.split(separator: ";").map {
      String($0).replacing("analyst", with: role).replacing("…", with: "x")
    }
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      var admin = endpoint
      admin.user = "postgres"
      try await LedgerDatabase.client(admin) { admin in
        for statement in statements where statement.contains(" ") { try await admin.execute(statement) }
        var analyst = endpoint
        (analyst.user, analyst.password) = (role, "x")
        // A client of ours asks for a session that takes writes.
        try await admin.execute("ALTER ROLE \(role) RESET default_transaction_read_only")
        try await LedgerDatabase.client(analyst) { analyst in
          for view in ReportingView.allCases {
            let count = try await analyst.texts("SELECT count(*)::text FROM reporting.\(view.rawValue)")
            #expect(count == ["0"])
          }
          for table in ["customers", "purchases", "transactions", "events", "reporting_keys"] {
            let error = await postgresError { try await analyst.execute("SELECT count(*) FROM \(table)") }
            #expect(error?.code == .server(sqlState: "42501"), "\(table)")
          }
        }
        try await admin.execute("DROP OWNED BY \(role)")
        try await admin.execute("DROP ROLE \(role)")
      }
    }
  }

  @Test func `a customer has one pseudonym in each view, and another one elsewhere`() async throws {
    var pseudonyms: Set<String> = []
    for _ in 1...2 {
      // The ledgers of other tests are copies of one.
      try await LedgerDatabase.with { endpoint in
        try await LedgerDatabase.client(endpoint) { client in
          try await Migration(client) { _ in }.run()
          let ledger = LedgerOfPurchases(client)
          try await ledger.register("100", for: "ann@example.com")
          try await ledger.register("101", for: "ben")
          let ann = try await ledger.texts(
            "SELECT customer FROM reporting.purchases WHERE original_transaction_id = '100'")
          let told = try await ledger.texts("SELECT customer FROM reporting.entitlements WHERE has_access")
          #expect(told.count == 2 && told.contains(ann[0]) && ann[0].wholeMatch(of: /[0-9a-f]{32}/) != nil)
          let all = try await ledger.texts(
            "SELECT p::text FROM reporting.purchases p UNION ALL SELECT e::text FROM reporting.entitlements e")
          #expect(all.count == 4 && !all.contains { $0.contains("ann") || $0.contains("ben") })
          try await ledger.postgres.run(
            """
            INSERT INTO customers (publisher_id, id, is_registered, told)
            SELECT 8, id, is_registered, told FROM customers WHERE id LIKE 'ann%'
            """)
          let other = try await ledger.texts("SELECT customer FROM reporting.entitlements WHERE publisher_id = 8")
          #expect(other.count == 1 && other != ann)
          pseudonyms.formUnion(ann + other)
        }
      }
    }
    // Each ledger has a key of its own.
    #expect(pseudonyms.count == 4)
  }

  @Test func `an entitlement whose end no clock shows has none`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let told = """
        [{"accessGranted":true,"billingProblem":false,"environment":"Production","expiresAt":9223372036854775807,
        "offerId":"S1"},{"accessGranted":true,"billingProblem":false,"environment":"Production",
        "expiresAt":1790812800123,"offerId":"S2","provisional":true}]
        """
      try await ledger.execute(
        "INSERT INTO customers (publisher_id, id, is_registered, told) VALUES (7, 'ann', true, '\(told)')")
      let ends = try await ledger.texts(
        "SELECT offer_id || ' ' || coalesce(ends_at::text, 'never') || ' ' || is_provisional "
          + "FROM reporting.entitlements ORDER BY offer_id")
      #expect(ends == ["S1 never false", "S2 2026-10-01 00:00:00.123+00 true"])
    }
  }

  @Test func `events are counted by their day in UTC`() async throws {
    try await LedgerDatabase.migrated { ledger in
      try await ledger.execute(
        """
        INSERT INTO events (id, publisher_id, topic, time, body) VALUES
          ('a', 7, 'entitlementChanged', '2026-10-01 23:59:59.999Z', ''),
          ('b', 7, 'entitlementChanged', '2026-10-02 00:00Z', ''),
          ('c', 7, 'entitlementChanged', '2026-10-02 09:00Z', ''),
          ('d', 7, 'inappPurchaseSyncResult', '2026-10-02 09:00Z', ''),
          ('e', 8, 'entitlementChanged', '2026-10-02 09:00Z', '')
        """)
      let days = try await ledger.texts(
        "SELECT day || ' ' || topic || ' ' || events FROM reporting.events_by_day WHERE publisher_id = 7 ORDER BY 1")
      #expect(
        days == [
          "2026-10-01 entitlementChanged 1", "2026-10-02 entitlementChanged 2", "2026-10-02 inappPurchaseSyncResult 1",
        ])
    }
  }
}

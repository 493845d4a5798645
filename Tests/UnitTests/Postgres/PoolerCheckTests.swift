import Testing

@testable import Postgres

/// What a connection tells about a pooler, by value.
struct PoolerCheckTests {
  private let wanted = [
    PoolerCheck.Setting(name: "jit", value: "off"), PoolerCheck.Setting(name: "lock_timeout", value: "2000"),
  ]

  @Test func `PostgreSQL itself tells the number of its process, and a pooler another one`() {
    #expect(!PoolerCheck.isPooled(announced: 7, serving: 7))
    #expect(PoolerCheck.isPooled(announced: 1_234_567, serving: 7))
  }

  @Test func `a session that changes or lacks a setting is refused`() {
    #expect(PoolerCheck.finding(wanted: wanted, found: wanted.reversed(), processes: [7, 7]) == nil)
    #expect(PoolerCheck.finding(wanted: wanted, found: wanted, processes: [7, 8]) == .changingSession)
    #expect(PoolerCheck.finding(wanted: wanted, found: [wanted[0]], processes: [7, 7]) == .lostSetting("lock_timeout"))
    let other = [PoolerCheck.Setting(name: "jit", value: "on"), wanted[1]]
    #expect(PoolerCheck.finding(wanted: wanted, found: other, processes: [7, 7]) == .lostSetting("jit"))
    // The sentence about the mode helps more.
    #expect(PoolerCheck.finding(wanted: wanted, found: [], processes: [7, 8]) == .changingSession)
  }

  @Test func `the settings are those that the client asks for`() throws {
    var endpoint = try PostgresEndpoint(url: "postgresql://user@host/database", password: nil, caFile: nil)
    endpoint.lockTimeout = .seconds(3)
    endpoint.sessionSettings = [("enable_seqscan", "off")]
    #expect(
      PoolerCheck.wanted(endpoint).map { "\($0.name)=\($0.value)" } == [
        "TimeZone=UTC", "jit=off", "idle_in_transaction_session_timeout=10000", "lock_timeout=3000",
        "enable_seqscan=off",
      ])
  }

  @Test func `every sentence says what to do`() {
    for text in [
      PoolerCheck.sentence(.changingSession), PoolerCheck.sentence(.lostSetting("jit")),
      PoolerCheck.explained("FATAL:  unsupported startup parameter: options"),
      PoolerCheck.explained("FATAL:  transaction blocks not allowed in statement pooling mode"),
    ] {
      #expect(text.contains("give ledger.url the address of PostgreSQL itself"))
      #expect(text.contains("docs/operate/managed-services.md"))
    }
    #expect(PoolerCheck.sentence(.lostSetting("jit")).contains("(jit)"))
    #expect(PoolerCheck.explained("connection refused") == "connection refused")
  }
}

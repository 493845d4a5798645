import Formats
import Testing

@testable import Postgres

/// What a connection tells about a pooler, by value.
struct PoolerCheckTests {
  private let wanted: [(name: String, value: String)] = [("jit", "off"), ("lock_timeout", "2000")]

  @Test func `a session that changes or lacks a setting is refused`() {
    func fault(_ found: [String: String], _ processes: [Int32]) -> PoolerCheck.Fault? {
      PoolerCheck.fault(wanted: wanted, found: found, processes: processes)
    }
    let all = ["lock_timeout": "2000", "jit": "off"]
    #expect(fault(all, [7, 7]) == nil)
    #expect(fault(all, [7, 8]) == .changingSession)
    #expect(fault(["jit": "off"], [7, 7]) == .lostSetting("lock_timeout"))
    #expect(fault(["jit": "on", "lock_timeout": "2000"], [7, 7]) == .lostSetting("jit"))
    // The sentence about the mode helps more.
    #expect(fault([:], [7, 8]) == .changingSession)
  }

  @Test func `the settings are the ones that the client asks for, in the form of pg_settings`() throws {
    var endpoint = try PostgresEndpoint(url: "postgresql://user@host/database", password: nil, caFile: nil)
    endpoint.lockTimeout = .seconds(3)
    endpoint.sessionSettings = [("enable_seqscan", "off")]
    let parameters = ConnectParameters.parameters(
      endpoint, endpoint.hosts[0], address: "127.0.0.1", libraryVersion: 150_000)
    #expect(
      parameters.first { $0.name == "options" }?.value
        == "-c TimeZone=UTC -c jit=off -c idle_in_transaction_session_timeout=10000 -c lock_timeout=3000 "
        + "-c enable_seqscan=off")
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

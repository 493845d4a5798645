import EventLoop
import Fleets
import Postgres
import ServerSupport
import TestSupport
import Testing

/// The ledger moves to a synchronous standby, and its first server stays down.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30))
)
@LoopActor
struct FailoverTests {
  @Test func `a promoted standby has every commit and takes new ones`() async throws {
    let servers = TestServers.current!
    do {
      try await servers.start(.standby)
      try await failOver(servers)
    } catch {
      try await forgetStandby(servers)
      throw error
    }
    try await forgetStandby(servers)
  }

  private func failOver(_ servers: TestServers) async throws {
    let name = "failover"
    try await servers.createDatabase(name)
    let url = servers.ledgerURL(database: name, ports: [servers.postgres, servers.standby])
    try await LedgerDatabase.client(try LedgerDatabase.endpoint(url)) { client in
      try await client.run("CREATE TABLE numbers (number bigint)")
      for number in 1...50 { try await client.run("INSERT INTO numbers VALUES (\(number))") }
      try await servers.kill(.postgres)
      try await servers.promoteStandby()
      try await eventually("the client writes again") {
        (try? await client.run("INSERT INTO numbers VALUES (51)")) != nil
      }
      let rows = try await client.run("SELECT DISTINCT number FROM numbers ORDER BY number")
      #expect(rows.map { $0.int64(0) } == (1...51).map { $0 })
      #expect(try await client.run("SELECT current_setting('port')::bigint")[0].int64(0) == Int64(servers.standby))
    }
  }

  /// Starts again with an empty ledger and without a standby.
  private func forgetStandby(_ servers: TestServers) async throws {
    for server in [TestServers.Server.standby, .postgres] {
      try await servers.kill(server)
      try await servers.wipe(server)
    }
    try await servers.start(.postgres)
  }
}

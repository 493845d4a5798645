import EventLoop
import Fleets
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Commits that wait for a standby that does not come.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct PostgresReplicationTests {
  private let table = "waiting_\(UInt32.random(in: 0...UInt32.max))"

  /// Lets commits wait for a standby that does not exist. The administrator's own session does not wait.
  private func withoutStandby(_ body: @LoopActor (PostgresClient) async throws -> Void) async throws {
    let change: (inout PostgresEndpoint) -> Void = { $0.sessionSettings = [("synchronous_commit", "local")] }
    try await PostgresTestServer.with(connections: 1, change) { admin in
      let names = try await admin.run(PostgresQuery("SHOW synchronous_standby_names"))[0].text(0) ?? ""
      _ = try await admin.run(PostgresQuery("CREATE TABLE \(table) (id int8 PRIMARY KEY)"))
      func set(_ names: String) async throws {
        _ = try await admin.run(PostgresQuery("ALTER SYSTEM SET synchronous_standby_names = '\(names)'"))
        _ = try await admin.run(PostgresQuery("SELECT pg_reload_conf()"))
        try await eventually("the setting holds") {
          try await admin.run(PostgresQuery("SHOW synchronous_standby_names"))[0].text(0) == names
        }
      }
      try await set("nobody")
      do {
        try await body(admin)
      } catch {
        try await set(names)
        throw error
      }
      try await set(names)
      // A commit that hangs keeps its locks.
      try await eventually("no commit hangs") { try await waiting(admin) == 0 }
      _ = try await admin.run(PostgresQuery("DROP TABLE \(table)"))
    }
  }

  /// Each writes another row. PostgreSQL's checkpointer tells the sessions that commits wait from now on, and it may be
  /// busy: the first ones may not wait yet.
  private var insert: PostgresQuery {
    PostgresQuery("INSERT INTO \(table) VALUES ((random() * 1e15)::bigint) ON CONFLICT DO NOTHING")
  }

  /// How many commits wait.
  private func waiting(_ admin: PostgresClient) async throws -> Int64 {
    try await admin.run(PostgresQuery("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))[0]
      .int64(0) ?? 0
  }

  @Test(arguments: [false, true])
  func `a commit that an administrator cuts short counts as unknown`(isWhole: Bool) async throws {
    try await withoutStandby { admin in
      try await PostgresTestServer.with(connections: 1) { client in
        let commit = Task { @LoopActor in
          while true {
            let error = await postgresError {
              if isWhole { return try await client.run([insert]) }
              return try await client.transaction { try await $0.query([insert]) }
            }
            if let error { return error }
          }
        }
        try await eventually("the commit waits") { try await waiting(admin) == 1 }
        _ = try await admin.run(
          PostgresQuery("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
        let error = await commit.value
        #expect(error.code == .connectionLost)
        #expect(error.advice == .runAgain)
        #expect(error.cause.contains("synchronous replication"), "\(error)")
        // It has committed here.
        #expect(try await admin.run(PostgresQuery("SELECT id FROM \(table)")).count >= 1)
        try await eventually("the client is back") { client.isReady }
      }
    }
  }

  @Test func `a server whose commits hang gets no more connections, until they go on`() async throws {
    let losses = Mailbox<String>(of: "losses of the connections")
    var endpoint = PostgresTestServer.endpoint!
    endpoint.replyTimeout = .milliseconds(500)
    let client = PostgresClient(endpoint, connections: 1) { change in
      if case .lost(let error, _) = change { losses.put(error.cause) }
    }
    client.start()
    try await eventually("ready") { client.isReady }
    try await withoutStandby { admin in
      try await PostgresTestServer.with(connections: 1) { other in
        // Another client's commit hangs first. So the client's commit hangs too, and is not merely slow. And its next
        // connection finds a commit that has hung for long enough: a slow server may have begun its own too late.
        Task { @LoopActor in
          var error: PostgresError?
          while error == nil { error = await postgresError { try await other.run([insert]) } }
        }
        try await eventually("a commit hangs") { try await waiting(admin) == 1 }
        let error = await postgresError { try await client.run([insert]) }
        #expect(error?.code == .timeout)
        let all = try await losses.wait { $0.contains { $0.contains("commits wait for a synchronous standby") } }
        #expect(!all.isEmpty)
        #expect(!client.isReady)
        // The client's own, which it has given up, and no more.
        try await eventually("two commits hang") { try await waiting(admin) == 2 }
      }
    }
    try await eventually("ready again") { client.isReady }
    await client.stop()
  }
}

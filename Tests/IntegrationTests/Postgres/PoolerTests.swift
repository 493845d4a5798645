import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// The pooler of these tests.
private enum PgBouncer {
  static let program = "/usr/sbin/pgbouncer"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }
}

/// A real PgBouncer between a client and PostgreSQL.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .enabled(if: PgBouncer.isInstalled, "pgbouncer is not installed"), .timeLimit(.minutes(30))
)
@LoopActor
struct PoolerTests {
  /// Runs a body with the address of a PgBouncer in front of a database with the schema.
  ///
  /// - Parameter settings: lines of its configuration.
  private func with(
    _ settings: [String], role: [String] = [], _ body: @LoopActor (PostgresEndpoint) async throws -> Void
  ) async throws {
    try await LedgerDatabase.with(isMigrated: true) { direct in
      try await LedgerDatabase.client(direct) { client in
        for setting in role {
          _ = try await client.run("ALTER ROLE countersign IN DATABASE \"\(direct.database)\" SET \(setting)")
        }
      }
      let folder = FileManager.default.temporaryDirectory.appending(path: "pgbouncer-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let port = try freePort()
      let server = direct.hosts[0]
      let lines =
        [
          "[databases]",
          "* = host=\(server.host) port=\(server.port) user=\(direct.user) password=\(direct.password ?? "")",
          "[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = \(port)", "unix_socket_dir =",
          "auth_type = any", "default_pool_size = 4",
        ] + settings
      try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: folder + "/pgbouncer.ini"))
      // PgBouncer does not run as root. The other user must read the file.
      let user = geteuid() == 0 ? ["-u", "nobody"] : []
      for path in [folder, folder + "/pgbouncer.ini"] { chmod(path, 0o755) }
      let process = try ChildProcess(PgBouncer.program, user + [folder + "/pgbouncer.ini"], output: folder + "/log")
      do {
        var endpoint = try LedgerDatabase.endpoint("postgresql://countersign:x@127.0.0.1:\(port)/\(direct.database)")
        // As a role's, and as `needed` says.
        endpoint.idleInTransactionTimeout = .seconds(10)
        endpoint.lockTimeout = .seconds(2)
        try await body(endpoint)
      } catch {
        let log = (try? Data(contentsOf: URL(filePath: folder + "/log"))).map { String(decoding: $0, as: UTF8.self) }
        Issue.record("PgBouncer: \(log ?? "no log")")
        await process.kill()
        throw error
      }
      await process.kill()
    }
  }

  /// A port that is free now.
  private func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, size) | getsockname(descriptor, pointer, &size)
      }
    }
    guard result == 0 else { throw NeverHappened(description: "no free port") }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// The settings that a session needs, for a pooler that passes none on.
  private static let needed = [
    "timezone = 'UTC'", "jit = off", "idle_in_transaction_session_timeout = '10s'", "lock_timeout = '2s'",
  ]

  private func failure(_ endpoint: PostgresEndpoint, _ sentence: String) async throws {
    let client = PostgresClient(endpoint, connections: 1)
    client.start()
    do {
      try await eventually("a refusal") { "\(client.failure.map { "\($0)" } ?? "")".contains(sentence) }
      #expect(!client.isReady)
      let cause = try #require(client.failure?.cause)
      #expect(cause.contains("give ledger.url the address of PostgreSQL itself"), "\(cause)")
    } catch {
      Issue.record("found: \(client.failure.map { "\($0)" } ?? "no failure")")
      await client.stop()
      throw error
    }
    await client.stop()
  }

  @Test func `a transaction pooler is refused, however it is set up`() async throws {
    let transaction = ["pool_mode = transaction", "ignore_startup_parameters = options"]
    // With the settings in the database, nothing but the mode is wrong.
    try await with(transaction, role: Self.needed) { endpoint in
      try await failure(endpoint, "the ledger is behind a transaction pooler")
    }
    try await with(transaction + ["server_reset_query_always = 1"], role: Self.needed) { endpoint in
      try await failure(endpoint, "the ledger is behind a transaction pooler")
    }
    try await with(transaction + ["server_round_robin = 1"], role: Self.needed) { endpoint in
      try await failure(endpoint, "the ledger is behind a transaction pooler")
    }
  }

  @Test func `a statement pooler is refused`() async throws {
    try await with(["pool_mode = statement", "ignore_startup_parameters = options"], role: Self.needed) { endpoint in
      try await failure(endpoint, "the ledger is behind a ")
    }
  }

  @Test func `a pooler that drops the session's settings is refused`() async throws {
    try await with(["pool_mode = session"]) { endpoint in
      try await failure(endpoint, "the ledger is behind a connection pooler")
    }
    try await with(["pool_mode = session", "ignore_startup_parameters = options"]) { endpoint in
      try await failure(endpoint, "drops settings of the session (")
    }
  }

  @Test func `a session pooler works once the database has the settings`() async throws {
    try await with(["pool_mode = session", "ignore_startup_parameters = options"], role: Self.needed) { endpoint in
      try await LedgerDatabase.client(endpoint) { client in
        #expect(try await SchemaCheck(client).state() == .ready)
        let value = try await client.transaction { transaction in
          _ = try await transaction.query(PostgresQuery(PostgresStatement("one", "SELECT 1")))
          return try await transaction.query(PostgresQuery(PostgresStatement("two", "SELECT 2")))[0].int64(0)
        }
        #expect(value == 2)
      }
    }
  }
}

import EventLoop
import Fleets
import Formats
import Glibc
import Postgres
import ServerSupport
import TestSupport
import Testing

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresFailureTests {
  private let one = PostgresQuery(PostgresStatement("one", "SELECT 1"))
  private let pid = PostgresQuery(PostgresStatement("pid", "SELECT pg_backend_pid()"))

  /// A client behind a proxy.
  private func withProxy(
    connections: Int = 1, _ change: (inout PostgresEndpoint) -> Void,
    _ body: @LoopActor (PostgresClient, FaultProxy) async throws -> Void
  ) async throws {
    let proxy = try FaultProxy(to: PostgresTestServer.endpoint!.hosts[0].port)
    defer { proxy.close() }
    try await PostgresTestServer.with(connections: connections) {
      $0.hosts = [ServerAddress(host: "127.0.0.1", port: proxy.port)]
      change(&$0)
    } _: {
      try await body($0, proxy)
    }
  }

  /// A client that cannot connect, and the failure that it tells.
  private func failure(_ change: (inout PostgresEndpoint) -> Void) async throws -> PostgresError {
    var endpoint = PostgresTestServer.endpoint!.patient
    change(&endpoint)
    let losses = Mailbox<PostgresError>(of: "losses of the connections")
    let client = PostgresClient(endpoint) { change in
      if case .lost(let failure, _) = change { losses.put(failure) }
    }
    client.start()
    let failure = try await losses.wait(for: 1)[0]
    #expect(!client.isReady)
    // It tries again meanwhile, and the resolver may give another reason.
    #expect(client.failure?.code == failure.code)
    let error = await postgresError { try await client.run(one) }
    #expect(error?.code == .unreachable)
    await client.stop()
    return failure
  }

  @Test func `a client that loses one of two connections tells that it can still run work`() async throws {
    let changes = Mailbox<Bool>(of: "changes: whether the client can run work")
    let client = PostgresClient(PostgresTestServer.endpoint!.patient, connections: 2) { change in
      if case .connected = change { changes.put(true) } else { changes.put(false) }
    }
    client.start()
    _ = try await changes.wait(for: 1)
    // A transaction within another one needs both connections.
    let session = try await client.transaction { _ in
      try await client.transaction { try await $0.query(pid)[0].int32(0) }
    }
    try await PostgresTestServer.with(connections: 1) { other in
      _ = try await other.run(PostgresQuery("SELECT pg_terminate_backend($1)", [.int32(session)]))
    }
    let told = try await changes.wait(for: 3)
    #expect(told == [true, false, true])
    await client.stop()
  }

  @Test func `a session that the server ends in a transaction is lost, and the client comes back`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      try await PostgresTestServer.with(connections: 1) { other in
        let error = await postgresError {
          try await postgres.transaction { transaction in
            let session = try await transaction.query(pid)[0].int32(0)
            _ = try await other.run(PostgresQuery("SELECT pg_terminate_backend($1)", [.int32(session)]))
            _ = try await transaction.query([one, one])
          }
        }
        #expect(error?.code == .connectionLost)
        #expect(error?.advice == .runAgain)
      }
      try await eventually("the next connection") { postgres.isReady }
      let value1 = try await postgres.run(one)[0].int32(0)
      #expect(value1 == 1)
    }
  }

  @Test func `a session that the server ends in a statement is lost with the server's words`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      let suicide = PostgresQuery("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(100)")
      let trips = [suicide, one].map { query in Task { @LoopActor in try await postgres.run(query).count } }
      for trip in trips {
        let error = await postgresError { try await trip.value }
        #expect(error?.code == .connectionLost)
        #expect(error?.cause.contains("terminating connection") == true)
      }
    }
  }

  @Test func `a transaction that stands still is ended by the server`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      let error = await postgresError {
        try await postgres.transaction { transaction in
          _ = try await transaction.query(
            PostgresQuery("SELECT set_config('idle_in_transaction_session_timeout', '10ms', false)"))
          try await eventually("the end of the session") { !postgres.isReady }
          _ = try await transaction.query(one)
        }
      }
      #expect(error?.code == .connectionLost)
    }
  }

  @Test func `a network that resets every connection is survived`() async throws {
    try await withProxy(connections: 2) { _ in
    } _: { postgres, proxy in
      for _ in 0..<5 {
        let trips = (0..<50).map { _ in Task { @LoopActor in try await postgres.run(one).count } }
        proxy.cut()
        // Each one has an answer.
        for trip in trips {
          if case .failure(let error as PostgresError) = await trip.result { #expect(error.advice == .runAgain) }
        }
        try await eventually("the next connection") { postgres.isReady }
      }
      // A connection that was cut may not have noticed it yet.
      try await eventually("an answer") { (try? await postgres.run(one)[0].int32(0)) == 1 }
    }
  }

  @Test func `a server that stops answering is lost after the timeout`() async throws {
    try await withProxy {
      $0.replyTimeout = .milliseconds(300)
    } _: { postgres, proxy in
      proxy.mode = .stalled
      let trips = (0..<2).map { _ in Task { @LoopActor in try await postgres.run(one).count } }
      for trip in trips {
        let error = await postgresError { try await trip.value }
        #expect(error?.code == .timeout)
        #expect(error?.advice == .runAgain)
      }
      proxy.mode = .open
      try await eventually("the next connection") { postgres.isReady }
    }
  }

  @Test func `a server that never finishes the handshake is left after the timeout`() async throws {
    let proxy = try FaultProxy(to: PostgresTestServer.endpoint!.hosts[0].port)
    defer { proxy.close() }
    proxy.ignoresNew = true
    let failure = try await failure {
      $0.hosts = [ServerAddress(host: "127.0.0.1", port: proxy.port)]
      $0.connectTimeout = .milliseconds(50)
    }
    #expect(failure.code == .unreachable && failure.cause == "no connection in time")
  }

  @Test func `a wrong password is named, and never printed`() async throws {
    let failure = try await failure { $0.password = "not-the-secret" }
    #expect(failure.code == .unreachable)
    #expect(failure.cause.contains("password authentication failed"))
    #expect(failure.cause.hasSuffix("(28P01)") && failure.isRefusal)
    #expect(!"\(failure)".contains("not-the-secret"))
    let missing = try await self.failure { $0.password = nil }
    #expect(missing.cause.contains("no password supplied") && missing.isRefusal)
    let database = try await self.failure { $0.database = "no-such-database" }
    #expect(database.cause.hasSuffix("(3D000)") && database.isRefusal)
  }

  @Test func `the next host is tried when the first one refuses`() async throws {
    let proxy = try FaultProxy(to: 1)
    let refused = proxy.port
    proxy.close()
    try await PostgresTestServer.with {
      $0.hosts =
        [ServerAddress(host: "127.0.0.1", port: refused), ServerAddress(host: "no-such-host.invalid", port: 1)]
        + $0.hosts
    } _: { postgres in
      let value3 = try await postgres.run(one)[0].int32(0)
      #expect(value3 == 1)
    }
    let failure = try await failure {
      $0.hosts = [
        ServerAddress(host: "127.0.0.1", port: refused), ServerAddress(host: "no-such-host.invalid", port: 1),
      ]
    }
    #expect(failure.cause.contains("Connection refused") && failure.cause.contains("resolve no-such-host.invalid"))
    #expect(!failure.isRefusal)
  }

  @Test func `a server that is read-only is not used until it takes writes`() async throws {
    let role = "test_\(UInt64.random(in: 0 ... .max))"
    try await PostgresTestServer.with { admin in
      func execute(_ sql: String) async throws { _ = try await admin.run(PostgresQuery(sql)) }
      try await execute("CREATE ROLE \(role) LOGIN PASSWORD 'secret'")
      try await execute("ALTER ROLE \(role) SET default_transaction_read_only = on")
      let failure = try await failure { ($0.user, $0.password) = (role, "secret") }
      #expect(failure.cause.contains("session is read-only"))
      try await execute("ALTER ROLE \(role) RESET default_transaction_read_only")
      try await PostgresTestServer.with {
        ($0.user, $0.password) = (role, "secret")
      } _: { postgres in
        let value4 = try await postgres.run(one)[0].int32(0)
        #expect(value4 == 1)
      }
      try await execute("DROP ROLE \(role)")
    }
  }

  @Test func `a server that turns read-only loses its connection`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      let session = try await postgres.run(pid)[0].int32(0)
      _ = try await postgres.run(PostgresQuery("SELECT set_config('default_transaction_read_only', 'on', false)"))
      let error = await postgresError {
        try await postgres.run(PostgresQuery("CREATE TABLE never_there ()"))
      }
      #expect(error?.code == .server(sqlState: "25006"))
      #expect(error?.advice == .runAgain)
      try await eventually("the next connection") { postgres.isReady }
      let value5 = try await postgres.run(pid)[0].int32(0)
      #expect(value5 != session)
    }
  }

  @Test func `work that waits when the client stops fails, and so does later work`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      var waiting: Task<Int, any Error>?
      let lost = await postgresError {
        try await postgres.transaction { transaction in
          _ = try await transaction.query(one)
          waiting = Task { @LoopActor in try await postgres.run(one).count }
          // The first stop comes from inside: nobody may wait for this transaction.
          Task { @LoopActor in await postgres.stop() }
          try await eventually("the stop") { !postgres.isReady }
          _ = try await transaction.query(one)
        }
      }
      #expect(lost?.code == .connectionLost)
      let unsent = await postgresError { try await waiting?.value }
      #expect(unsent?.code == .closed)
      let later = await postgresError { try await postgres.run(one) }
      #expect(later?.code == .closed)
      #expect(postgres.failure?.code == .closed)
    }
  }
}

import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Migrations and the check of the roles, on a real database.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct MigrationTests {
  private let all = SchemaStep.all.map { "step \($0.number) (\($0.name)) applied" }
  private let done = "the schema has every step of this build"

  /// A step that this build does not know, after the known ones.
  private func next(_ sql: String, isBreaking: Bool = false) -> SchemaStep {
    SchemaStep(number: Int32(SchemaStep.all.count) + 1, name: "madeUp", isBreaking: isBreaking, sql: sql)
  }

  /// Migrates and returns the lines.
  private func migrate(_ endpoint: PostgresEndpoint, _ steps: [SchemaStep] = SchemaStep.all) async throws -> [String] {
    var lines: [String] = []
    try await LedgerDatabase.client(endpoint) { client in
      try await Migration(client, steps: steps) { lines.append($0) }.run()
    }
    return lines
  }

  private func state(_ endpoint: PostgresEndpoint) async throws -> SchemaState {
    try await LedgerDatabase.client(endpoint) { try await SchemaCheck($0).state() }
  }

  @Test func `an empty database is behind`() async throws {
    try await LedgerDatabase.with { endpoint in
      guard case .behind(let missing) = try await state(endpoint) else { return #expect(Bool(false)) }
      #expect(missing.map(\.number) == SchemaStep.all.map(\.number))
      let error = await #expect(throws: SchemaMismatch.self) {
        try await LedgerDatabase.client(endpoint) { try await SchemaCheck($0).pass() }
      }
      #expect(error?.description.hasSuffix("run `countersign migrate`") == true)
    }
  }

  @Test func `a second migration has nothing to do`() async throws {
    try await LedgerDatabase.with { endpoint in
      #expect(try await migrate(endpoint) == all + [done])
      #expect(try await state(endpoint) == .ready)
      #expect(try await migrate(endpoint) == [done])
      try await LedgerDatabase.client(endpoint) { client in
        try await SchemaCheck(client).pass()
        #expect(try await client.run("SELECT count(*) FROM schema_steps")[0].int64(0) == Int64(SchemaStep.all.count))
        #expect(try await client.run("SELECT version, told FROM customers").isEmpty)
      }
    }
  }

  @Test func `migrations at once apply each step once`() async throws {
    try await LedgerDatabase.with { endpoint in
      let steps = SchemaStep.all + [next("CREATE TABLE made_up (id bigint);")]
      async let one = migrate(endpoint, steps)
      async let two = migrate(endpoint, steps)
      async let three = migrate(endpoint, steps)
      let lines = try await one + two + three
      // One of them may apply the first step, and another one the second.
      let applied = all + ["step \(steps.count) (madeUp) applied"]
      #expect(lines.filter { $0.hasSuffix("applied") }.sorted() == applied.sorted())
      #expect(lines.count { $0 == done } == 3)
    }
  }

  @Test func `this build works on a schema with a step that adds something`() async throws {
    try await LedgerDatabase.with { endpoint in
      let steps = SchemaStep.all + [next("ALTER TABLE customers ADD COLUMN made_up text; CREATE TABLE made_up ();")]
      #expect(try await migrate(endpoint, steps).count == steps.count + 1)
      #expect(try await state(endpoint) == .ready)
      try await LedgerDatabase.client(endpoint) { try await SchemaCheck($0).pass() }
      #expect(try await migrate(endpoint) == [done])
    }
  }

  @Test func `this build refuses a schema with a step that breaks something`() async throws {
    try await LedgerDatabase.with { endpoint in
      let step = next("ALTER TABLE customers RENAME COLUMN told TO made_up;", isBreaking: true)
      _ = try await migrate(endpoint, SchemaStep.all + [step])
      for refused in [
        await #expect(throws: SchemaMismatch.self) {
          try await LedgerDatabase.client(endpoint) { try await SchemaCheck($0).pass() }
        },
        await #expect(throws: SchemaMismatch.self) { try await migrate(endpoint) },
      ] {
        #expect(
          refused?.description
            == "the ledger's schema has step \(step.number) (madeUp), which this process cannot work with: update this "
            + "process")
      }
    }
  }

  @Test func `a step that fails leaves nothing`() async throws {
    try await LedgerDatabase.with { endpoint in
      let steps = SchemaStep.all + [next("CREATE TABLE made_up (id bigint); ALTER TABLE nowhere ADD COLUMN x text;")]
      let error = await #expect(throws: PostgresError.self) { try await migrate(endpoint, steps) }
      #expect(error?.code == .server(sqlState: "42P01"))
      try await LedgerDatabase.client(endpoint) { client in
        let isGone = try await client.run("SELECT to_regclass('made_up') IS NULL")
        #expect(isGone[0].bool(0) == true)
        let state = try await SchemaCheck(client, steps: steps).state()
        #expect(state == .behind([AppliedStep(number: steps.last!.number, name: "madeUp", isBreaking: false)]))
      }
    }
  }

  @Test func `a step waits for a lock again and again`() async throws {
    try await LedgerDatabase.with { endpoint in
      try await LedgerDatabase.client(endpoint) { holder in
        try await holder.run("CREATE TABLE held (id bigint)")
        let gate = Mailbox<Void>(of: "refused locks")
        var hasLock = false
        let holding = Task { @LoopActor in
          try await holder.transaction { transaction in
            _ = try await transaction.query(PostgresQuery(PostgresStatement("hold", "LOCK TABLE held")))
            hasLock = true
            _ = try await gate.wait(for: 1)
          }
        }
        try await eventually("the lock is held") { hasLock }
        var impatient = endpoint
        impatient.lockTimeout = .milliseconds(20)
        let lines = try await LedgerDatabase.client(impatient) { client in
          var lines: [String] = []
          try await Migration(client, steps: [next("ALTER TABLE held ADD COLUMN x text;")]) { line in
            lines.append(line)
            if line.hasPrefix("trying again: ") { gate.put(()) }
          }.run()
          return lines
        }
        try await holding.value
        #expect(lines.count == 3 && lines[0].contains("55P03"), "\(lines)")
        #expect(lines.dropFirst() == ["step \(SchemaStep.all.count + 1) (madeUp) applied", done])
      }
    }
  }

  @Test func `a role waits for PostgreSQL and then passes`() async throws {
    try await LedgerDatabase.with { endpoint in
      _ = try await migrate(endpoint)
      let proxy = try FaultProxy(to: TestServers.current!.postgres)
      defer { proxy.close() }
      proxy.mode = .cut
      let through = TestServers.current!.ledgerURL(database: endpoint.database, ports: [proxy.port])
      var failures = 0
      let client = PostgresClient(try LedgerDatabase.endpoint(through), connections: 1) { change in
        if case .lost = change { failures += 1 }
      }
      client.start()
      var hasPassed = false
      let check = Task { @LoopActor in
        try await SchemaCheck(client).pass()
        hasPassed = true
      }
      try await eventually("connections fail") { failures > 1 }
      #expect(!hasPassed)
      proxy.mode = .open
      try await check.value
      await client.stop()
    }
  }
}

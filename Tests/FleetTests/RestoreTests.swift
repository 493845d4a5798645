import EventLoop
import Fleets
import Formats
import Glibc
import HTTP
import Postgres
import ServerSupport
import Simulator
import TestSupport
import Testing

/// A ledger that comes back from its backup as it was at a moment. Redis and RabbitMQ know more than it does then.
@Suite(
  .breakingServers,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct RestoreTests {
  private static let roles = ["gateway-1", "worker-1", "notifier-1"]

  /// Registers purchases of a customer, one for each id.
  private func register(_ fleet: RunningFleet, _ ids: [String], customer: Int64, from first: Int) async throws {
    for (number, id) in ids.enumerated() {
      #expect(try await fleet.register("\(first + number)", customer: customer, id: id).status == 202)
    }
  }

  private func purchases(_ fleet: RunningFleet, of customer: String) async throws -> Int64? {
    try await fleet.withLedger { ledger in
      let statement = PostgresStatement("test: count", "SELECT count(*) AS count FROM purchases WHERE customer_id = $1")
      return try await ledger.run(PostgresQuery(statement, [.text(customer)])).first?.int64("count")
    }
  }

  /// The finalized synchronizations of the load, as the ledger has them: Redis may still know what it has forgotten.
  private func finalizedLoad(_ fleet: RunningFleet) async throws -> Set<String> {
    try await Set(
      fleet.texts(
        "SELECT id AS text FROM synchronizations WHERE publisher_id = \(RegistrationLoad.publisher) "
          + "AND status = 'finalized'"))
  }

  /// Makes a base backup while clients keep registering.
  ///
  /// - Returns: the registrations that were accepted before, meanwhile and right after.
  private func backUp(_ fleet: RunningFleet) async throws -> Set<String> {
    try await RegistrationLoad.with(fleet) { load in
      try await load.goOn()
      let before = load.accepted.count
      try await TestServers.current!.backUpLedger()
      #expect(load.accepted.count > before, "no registration came during the backup")
      try await load.goOn()
    }
  }

  private func ids(_ name: String) -> [String] { (1...5).map { "\(name)\($0)" } }

  /// As docs/operate/wiped-servers.md tells it, *PostgreSQL*.
  @Test func `what was committed before the moment stays, what was under way ends, and what came later comes again`()
    async throws
  {
    let servers = TestServers.current!
    let overrides = [
      // The page lets roles start only when no answer of Apple's from before may be reused. Nobody waits here.
      "COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0",
      // The jobs that Apple fails must be open at the moment, and still when the ledger is back.
      "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": Array(repeating: "1", count: 400).joined(separator: ","),
    ]
    try await RunningFleet.with(Self.roles, overrides: overrides) { fleet async throws in
      for customer in [8, 9, 10] { #expect(try await fleet.putCustomer(Int64(customer)).status == 201) }
      // The first half is in the base backup, the second one in the archive of the WAL only, and the load in both.
      try await register(fleet, ids("base"), customer: 8, from: 1_000_000_000_101)
      _ = try await fleet.finished(Set(ids("base")))
      let load = try await backUp(fleet)
      _ = try await fleet.finished(load)
      try await register(fleet, ids("archive"), customer: 8, from: 1_000_000_000_201)
      _ = try await fleet.finished(Set(ids("archive")))
      for number in 1...5 { fleet.simulator.localWeather["\(1_000_000_000_300 + number)"] = [.failing] }
      try await register(fleet, ids("open"), customer: 9, from: 1_000_000_000_301)
      let moment = unixMilliseconds()
      try await eventually("the moment has passed") { unixMilliseconds() > moment + 100 }
      try await register(fleet, ids("later"), customer: 10, from: 1_000_000_000_401)
      let later = try await fleet.finished(Set(ids("later")))
      #expect(later.allSatisfy { $0.accessGranted })

      for name in Self.roles { fleet.roles[name]?.process.send(SIGTERM) }
      for name in Self.roles { #expect(try await fleet.roles[name]?.process.ended() == 0) }
      fleet.mayRepair = true
      try await servers.restoreLedger(to: moment)
      // A standby copies the settings of its server, and would promote itself at the moment.
      let stays = "name = 'recovery_target_time' AND setting <> '' AND NOT pending_restart"
      #expect(try await fleet.texts("SELECT name AS text FROM pg_settings WHERE \(stays)") == [])
      _ = try await fleet.command(["migrate"])
      for name in Self.roles { try fleet.start(name) }
      for name in Self.roles { try await fleet.ready(name) }

      for id in ids("base") + ids("archive") {
        let status = try #require(try await fleet.status(id))
        #expect(status.status == "finalized" && status.accessGranted == true, "\(id)")
      }
      #expect(try await purchases(fleet, of: "8") == 10)
      // Every one of the load was committed before the moment, some while the base backup was made.
      #expect(load.subtracting(try await finalizedLoad(fleet)).isEmpty)
      // Their jobs were in RabbitMQ and Redis.
      fleet.simulator.localWeather = [:]
      let open = try await fleet.finished(Set(ids("open")))
      #expect(open.allSatisfy { $0.accessGranted })
      // The ledger has forgotten these. The customer registers again, with ids of their own.
      #expect(try await purchases(fleet, of: "10") == 0)
      try await register(fleet, ids("again"), customer: 10, from: 1_000_000_000_401)
      let again = try await fleet.finished(Set(ids("again")))
      #expect(again.allSatisfy { $0.accessGranted })
      #expect(try await purchases(fleet, of: "10") == 5)
    }
  }
}

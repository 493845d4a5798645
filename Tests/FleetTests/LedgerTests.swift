import AMQP
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import Messaging
import ServerSupport
import TestSupport
import Testing

/// Faults around the ledger's commit: every accepted registration is finalized once, and Redis is no memory.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct LedgerTests {
  private let transaction = "1000000000001"

  /// The events of synchronizations, once all are there; each has one id and one version.
  @discardableResult
  private func check(_ ids: Set<String>, at fleet: RunningFleet) async throws -> [RunningFleet.Event] {
    let events = try await fleet.finished(ids)
    for id in ids {
      let own = events.filter { $0.synchronizationId == id }
      #expect(Set(own.map(\.id)).count == 1, "\(id) has one event id")
      let status = try #require(try await fleet.status(id))
      #expect(status.status == "finalized", "\(id)")
      #expect(Set(own.map(\.version)) == [status.version], "\(id) took effect once")
      #expect(own.first?.result == status.result)
    }
    return events
  }

  // MARK: A worker that dies behind its commit

  @Test(arguments: ["COUNTERSIGN_TEST_CRASH_AFTER_COMMIT", "COUNTERSIGN_TEST_CRASH_AFTER_PUBLISH"])
  func `a worker that dies right after its commit leaves one event, and no claim that stays`(
    fault: String
  ) async throws {
    try await RunningFleet.with(["gateway-1"]) { fleet in
      try fleet.start("worker-1", with: [fault: transaction])
      try await fleet.ready("worker-1")
      #expect(try await fleet.register(transaction, id: "first").status == 202)
      #expect(try await fleet.roles["worker-1"]?.process.ended() != 0)
      let wasPublished = fault.hasSuffix("PUBLISH")
      if wasPublished { _ = try await fleet.finished(["first"]) }
      #expect(fleet.events.all.count == (wasPublished ? 1 : 0))

      // The ledger has the result, and Redis still the claim: the gateway takes it over.
      let status = try await fleet.status("first")
      #expect(status?.status == "finalized" && status?.result == "PURCHASE_SYNCHRONIZED")
      #expect(try await fleet.register(transaction, id: "second").status == 202)
      #expect(fleet.log("gateway-1").contains("took over a claim"))
      // The second one has a claim of its own now.
      #expect(try await fleet.register(transaction, id: "third").status == 409)

      try fleet.start("worker-2")
      try await fleet.ready("worker-2")
      try await check(["first", "second"], at: fleet)
      #expect(try await fleet.register(transaction, id: "third").status == 202)
      try await check(["first", "second", "third"], at: fleet)
    }
  }

  // MARK: Redis is no memory

  @Test(.breakingServers) func `Redis wiped: owner, result and used ids are still there`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await fleet.putCustomer(8).status == 201)
      #expect(try await fleet.register(transaction, id: "first").status == 202)
      let first = try #require(try await check(["first"], at: fleet).last)
      try await servers.kill(.redis)
      try await servers.wipe(.redis)
      try await servers.start(.redis)
      for name in ["gateway-1", "worker-1"] { try await fleet.ready(name) }

      let status = try await fleet.status("first")
      #expect(status?.status == "finalized" && status?.result == "PURCHASE_SYNCHRONIZED")
      #expect(status?.offerId == "S1" && status?.version == first.version)
      // The same registration again is the same one: no job runs.
      let again = try await fleet.register(transaction, id: "first")
      #expect(again.status == 202)
      #expect(again.header("location") == "/storekit2/purchases/synchronizations/first")
      // Another purchase, and another customer, may not have its id.
      #expect(try await fleet.register("1000000000002", id: "first").status == 400)
      #expect(try await fleet.register(transaction, customer: 8, id: "first").status == 400)
      // The customers are the ledger's, and the purchase has its owner.
      #expect(try await fleet.register(transaction, customer: 8, id: "other").status == 202)
      let other = try #require(try await check(["first", "other"], at: fleet).last)
      #expect(other.result == "PURCHASE_OWNED_BY_ANOTHER_CUSTOMER" && other.synchronizationId == "other")
      #expect(try await fleet.metric("worker-1", "countersign_results_total") == 2)
    }
  }

  // MARK: The ledger is away

  @Test(.breakingServers)
  func `while the ledger is away registrations go on where nothing must be asked, and all are finalized later`()
    async throws
  {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await fleet.register(transaction, id: "before").status == 202)
      try await check(["before"], at: fleet)
      try await servers.stop(.postgres)
      let accepted: [String]
      do {
        accepted = try await registerWithoutLedger(fleet)
      } catch {
        try await servers.start(.postgres)
        throw error
      }
      try await servers.start(.postgres)
      // The gateway is ready without the ledger, and may still be on its way back to it.
      try await eventually("the ledger can be asked for an id") {
        try await fleet.register("1000000000020", id: "chosen").status == 202
      }
      try await check(Set(accepted + ["before", "chosen"]), at: fleet)
    }
  }

  /// Checks the answers of a fleet whose ledger is stopped. Returns the ids of the accepted registrations.
  private func registerWithoutLedger(_ fleet: RunningFleet) async throws -> [String] {
    let worker = try #require(fleet.roles["worker-1"])
    try await eventually("the worker is not ready") {
      try await fleet.send("GET", "http://\(worker.address)/readyz").status == 503
    }
    let ready = try await fleet.send("GET", "http://\(worker.address)/readyz")
    #expect(String(decoding: ready.body, as: UTF8.self).contains("not ready: ledger: "))
    // A gateway can do a part of its work.
    let gateway = try await fleet.send("GET", fleet.url("/readyz"))
    #expect(gateway.status == 200)
    #expect(String(decoding: gateway.body, as: UTF8.self).contains("degraded: ledger: "))

    var accepted: [String] = []
    for number in 10..<13 {
      let answer = try await fleet.register("10000000000\(number)")
      #expect(answer.status == 202)
      accepted.append(String(answer.header("location")?.split(separator: "/").last ?? ""))
    }
    // The ledger may know the id, and nobody can ask.
    let chosen = try await fleet.register("1000000000020", id: "chosen")
    #expect(chosen.status == 503)
    #expect(chosen.header("retry-after") != nil)
    // Redis knows this one.
    #expect(try await fleet.register(transaction, id: "before").status == 202)
    let status = try await fleet.send(
      "GET", fleet.url("/storekit2/purchases/synchronizations/before"), fleet.headers(RunningFleet.publisher))
    #expect(status.status == 503)
    #expect(status.header("retry-after") != nil)
    // The worker has taken none of the jobs: they wait in the queue.
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "count")
    let channel = try await connection.openChannel()
    #expect(try await channel.declareQueue(fleet.topology.jobs, passive: true).messages == 3)
    await connection.close()
    #expect(try await fleet.metric("worker-1", "countersign_jobs_in_flight") == 0)
    return accepted
  }
}

import AMQP
import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import HTTP
import Messaging
import ServerSupport
import Simulator
import TestSupport
import Testing

/// A whole fleet that the tests break on purpose: every accepted registration is finalized, once.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct FaultTests {
  /// Registers purchases. Apple needs a while for some of them, so that the workers always have some in hand.
  private func register(_ count: Int, at fleet: RunningFleet, from first: Int = 0) async throws -> Set<String> {
    var ids: Set<String> = []
    for number in first..<(first + count) {
      let prefix = number % 3 == 0 ? "133" : "100"
      let answer = try await fleet.register("\(prefix)00000\(1000 + number)", id: "s\(number)")
      #expect(answer.status == 202)
      ids.insert("s\(number)")
    }
    return ids
  }

  /// Checks what must hold after any fault.
  private func check(_ ids: Set<String>, at fleet: RunningFleet) async throws {
    let events = try await fleet.finished(ids)
    for id in ids {
      let own = events.filter { $0.synchronizationId == id }
      #expect(Set(own.map(\.id)).count == 1, "\(id) has one event id")
      #expect(Set(own.map(\.version)).count == 1, "\(id) took effect once")
      #expect(own.first?.result == "PURCHASE_SYNCHRONIZED")
      let status = try await fleet.status(id)
      #expect(status?.status == "finalized")
      #expect(status?.version == own.first?.version)
    }
  }

  @Test func `workers killed with jobs in hand`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "worker-2"]) { fleet in
      let ids = try await register(12, at: fleet)
      await fleet.kill("worker-1", "worker-2")
      try fleet.start("worker-3")
      try await fleet.ready("worker-3")
      try await check(ids, at: fleet)
    }
  }

  @Test func `a worker that is told to stop finishes what it has, and nothing is delivered twice`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let ids = try await register(6, at: fleet)
      try await eventually("the worker has them in hand") {
        try await fleet.metric("worker-1", "countersign_job_queue_wait_seconds_count") == 6
      }
      fleet.roles["worker-1"]?.process.send(SIGTERM)
      #expect(try await fleet.roles["worker-1"]?.process.ended() == 0)
      // There is no other worker: this one finished every job that reached it before it ended.
      try await check(ids, at: fleet)
      #expect(fleet.events.all.count == ids.count)
      try fleet.start("worker-2")
      try await fleet.ready("worker-2")
      let more = try await register(1, at: fleet, from: 100)
      try await check(more, at: fleet)
      #expect(fleet.events.all.count == ids.count + 1)
    }
  }

  @Test func `a worker hands back what it cannot finish in its grace period`() async throws {
    let noGrace = ["COUNTERSIGN_SHUTDOWN_GRACE_SECONDS": "0"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: noGrace) { fleet in
      #expect(try await fleet.register("1330000000001", id: "slow").status == 202)
      try await eventually("the worker has it in hand") {
        try await fleet.metric("worker-1", "countersign_jobs_in_flight") == 1
      }
      fleet.roles["worker-1"]?.process.send(SIGTERM)
      #expect(try await fleet.roles["worker-1"]?.process.ended() == 0)
      #expect(fleet.log("worker-1").contains("handed back"))
      #expect(try await fleet.status("slow")?.status == "processing")
      try fleet.start("worker-2")
      try await fleet.ready("worker-2")
      try await check(["slow"], at: fleet)
      // The worker gave its lease back too, so the next one did not have to wait for the end of the lease.
      #expect(!fleet.log("worker-2").contains("\"cause\":\"busy\""))
    }
  }

  @Test func `a worker that sleeps longer than its lease does not take effect`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      // The sleeper gets another answer from Apple than the other workers.
      fleet.simulator.localWeather["1000000000001"] = [.slow(.seconds(1)), .forged]
      var calls = 0
      // Workers also read the history of notifications.
      fleet.simulator.onCall = { if $0.transactionId == "1000000000001" { calls += 1 } }
      #expect(try await fleet.register("1000000000001", id: "slow").status == 202)
      try await eventually("Apple was asked") { calls == 1 }
      fleet.roles["worker-1"]?.process.send(SIGSTOP)
      fleet.simulator.localWeather["1000000000001"] = [.slow(.seconds(4))]
      try fleet.start("worker-2")
      // The broker still counts the job as the sleeper's. The sweep, or the end of the sleeper's connection, brings it
      // to the other worker. The sleeper wakes while the other one waits for Apple: it knows by its own clock that its
      // lease has ended.
      try await eventually("the other one has it in hand") { calls == 2 }
      fleet.roles["worker-1"]?.process.send(SIGCONT)
      _ = try await fleet.finished(["slow"])
      try await eventually("the sleeper has no job any more") {
        try await fleet.metric("worker-1", "countersign_jobs_in_flight") == 0
      }
      #expect(
        fleet.log("worker-1").contains("the lease has ended"), "it had something in hand that came too late")
      #expect(try await fleet.metric("worker-1", "countersign_stale_runs_total") == 1)
      try await check(["slow"], at: fleet)
    }
  }

  @Test(.breakingServers) func `RabbitMQ wiped with jobs open`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      await fleet.kill("worker-1")
      let ids = try await register(12, at: fleet)
      try await servers.kill(.rabbitmq)
      try await servers.wipe(.rabbitmq)
      try await servers.start(.rabbitmq)
      try await fleet.subscribed()
      try fleet.start("worker-2")
      try await fleet.ready("worker-2")
      try await check(ids, at: fleet)
    }
  }

  @Test(.breakingServers) func `Redis wiped with jobs open`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let ids = try await register(12, at: fleet)
      try await servers.kill(.redis)
      try await servers.wipe(.redis)
      try await servers.start(.redis)
      let events = try await fleet.finished(ids)
      #expect(Set(events.map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      // The transaction can be registered again. The ledger has its version.
      _ = try await fleet.putCustomer(7)
      let last = try #require(events.last { $0.synchronizationId == "s1" })
      #expect(try await fleet.register("100000001001", id: "again").status == 202)
      let again = try await fleet.finished(["again"]).last { $0.synchronizationId == "again" }
      #expect(try #require(again).version >= last.version)
    }
  }

  @Test(.breakingServers)
  func `Redis wiped, and the transaction registered again while its first job runs`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      #expect(try await fleet.register("1330000000001", id: "first").status == 202)
      try await eventually("the worker has it in hand") {
        try await fleet.metric("worker-1", "countersign_jobs_in_flight") == 1
      }
      try await servers.kill(.redis)
      try await servers.wipe(.redis)
      try await servers.start(.redis)
      try await fleet.ready("gateway-1")
      _ = try await fleet.putCustomer(7)
      #expect(try await fleet.register("1330000000001", id: "second").status == 202)
      // The gateway accepted both, so both are finalized, whichever lost its lease.
      try await check(["first", "second"], at: fleet)
    }
  }

  @Test(.breakingServers) func `Redis down is a 503, and nothing stays behind`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      try await servers.stop(.redis)
      let refused = try await fleet.register("1000000000001", id: "a")
      #expect(refused.status == 503)
      #expect(refused.header("retry-after") != nil)
      #expect(try await fleet.send("GET", fleet.url("/readyz")).status == 503)
      #expect(try await fleet.send("GET", fleet.url("/livez")).status == 200)
      try await servers.start(.redis)
      try await fleet.ready("gateway-1")
      #expect(try await fleet.register("1000000000001", id: "a").status == 202)
      try await check(["a"], at: fleet)
    }
  }

  @Test(.breakingServers)
  func `RabbitMQ restarted with jobs in hand; while it is down a 503 leaves no claim behind`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "worker-1", "worker-2"]) { fleet in
      let ids = try await register(12, at: fleet)
      try await servers.stop(.rabbitmq)
      let refused = try await fleet.register("1000000000001", id: "a")
      #expect(refused.status == 503)
      #expect(refused.header("retry-after") != nil)
      #expect(try await fleet.send("GET", fleet.url("/readyz")).status == 503)
      try await servers.start(.rabbitmq)
      for name in ["gateway-1", "worker-1", "worker-2"] { try await fleet.ready(name) }
      #expect(try await fleet.register("1000000000001", id: "a").status == 202)
      try await check(ids.union(["a"]), at: fleet)
    }
  }

  @Test(.breakingServers)
  func `during a memory alarm a gateway says so, what was accepted waits, and a stop ends`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with(["gateway-1", "gateway-2", "worker-1", "worker-2"]) { fleet in
      let first = try await register(1, at: fleet)
      try await check(first, at: fleet)
      try await servers.raiseAlarm()
      do {
        // The broker reports its alarm only to a client that publishes; until then the gateway may try a registration
        // in vain.
        let refused = try await fleet.register("1000000000001", id: "a")
        #expect(refused.status == 503)
        #expect(refused.header("retry-after") != nil)
        try await eventually("the gateway is not ready") {
          try await fleet.send("GET", fleet.url("/readyz")).status == 503
        }
        // The gateway refuses a second one at once, without another try.
        let again = try await fleet.register("1000000000001", id: "b")
        #expect(again.status == 503)
        for name in ["gateway-2", "worker-2"] {
          fleet.roles[name]?.process.send(SIGTERM)
          #expect(try await fleet.roles[name]?.process.ended() == 0, "\(name)")
        }
      } catch {
        try await servers.endAlarm()
        throw error
      }
      try await servers.endAlarm()
      try await fleet.ready("gateway-1")
      try await fleet.ready("worker-1")
      let later = try await fleet.register("1000000000002", id: "c")
      #expect(later.status == 202)
      try await check(["c"], at: fleet)
    }
  }

  @Test func `a delivery that is no job goes to the dead-letter queue with its reason, and its neighbours run`()
    async throws
  {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "poison")
      let channel = try await connection.openChannel()
      try await channel.enableConfirms()
      let poison: [(body: String, reason: String)] = [
        ("not JSON", "the body is not JSON"), ("{}", "is missing"),
        (
          "{\"format\":0,\"synchronizationId\":\"s\",\"publisherId\":1,\"customerId\":\"1\",\"transactionId\":\"1\",\"registeredAt\":1}",
          "format 0"
        ),
        (
          "{\"format\":1,\"synchronizationId\":\"s\",\"publisherId\":1,\"customerId\":\"1\",\"transactionId\":\"1/../2\",\"registeredAt\":1}",
          "transactionId"
        ),
      ]
      var ids: Set<String> = []
      for (number, message) in poison.enumerated() {
        try await channel.publish(
          AMQPMessage(
            exchange: "", routingKey: fleet.topology.jobs, messageID: "p\(number)", body: Array(message.body.utf8)))
        ids.formUnion(try await register(1, at: fleet, from: number))
      }
      let dead = Mailbox<AMQPDelivery>(of: "dead jobs")
      try await channel.consume(fleet.topology.deadJobs, tag: "dead") { dead.put($0) }
      let buried = try await dead.wait(for: poison.count)
      for (number, message) in poison.enumerated() {
        let delivery = try #require(buried.first { $0.properties.messageID == "p\(number)" })
        #expect(delivery.body == Array(message.body.utf8))
        #expect(delivery.properties.headers["countersign-reason"]?.string?.contains(message.reason) == true)
        channel.acknowledge(delivery)
      }
      try await check(ids, at: fleet)
      #expect(try await fleet.metric("worker-1", "countersign_dead_jobs_total") == Double(poison.count))
      await connection.close()
    }
  }

  @Test func `a job of a newer format goes round as it is until a worker is there that can run it`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"]) { fleet in
      let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "newer gateway")
      let channel = try await connection.openChannel()
      try await channel.enableConfirms()
      let body = Array(#"{"format":4,"anything":["else"]}"#.utf8)
      try await channel.publish(
        AMQPMessage(
          exchange: "", routingKey: fleet.topology.jobs, messageID: "newer",
          headers: ["countersign-attempt": 3, "countersign-more": "x"], body: body))
      let rounds = "countersign_job_retries_total{cause=\"newer_format\"}"
      try await eventually("two rounds") { try await fleet.metric("worker-1", rounds) >= 2 }
      #expect(try await fleet.metric("worker-1", "countersign_dead_jobs_total") == 0)

      await fleet.kill("worker-1")
      let newer = Mailbox<AMQPDelivery>(of: "jobs of a newer format")
      try await channel.consume(fleet.topology.jobs, tag: "newer worker") { newer.put($0) }
      let delivery = try await newer.wait(for: 1)[0]
      #expect(delivery.body == body)
      #expect(delivery.properties.messageID == "newer")
      #expect(delivery.properties.headers["countersign-attempt"] == 3)
      #expect(delivery.properties.headers["countersign-more"] == "x")
      channel.acknowledge(delivery)
      await connection.close()
    }
  }

  /// Three seconds are no queue's delay: the job waits behind two.
  @Test func `a wait of any length goes through several queues, and is one attempt`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: ["COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": "3,3"]
    ) { fleet in
      let retries = "countersign_job_retries_total{cause=\"apple_error\"}"
      fleet.simulator.weather = .failing
      let ids = try await register(1, at: fleet, from: 1)
      try await eventually("the first attempt failed") { try await fleet.metric("worker-1", retries) >= 1 }
      fleet.simulator.weather = .fair
      try await check(ids, at: fleet)
      #expect(try await fleet.metric("worker-1", retries) == 1)
    }
  }

  @Test func `a start with a mistake in the configuration lists it and ends with 2`() async throws {
    let output = FileManager.default.temporaryDirectory.path + "/countersign-\(UInt32.random(in: 0...UInt32.max)).log"
    let process = try ChildProcess(
      Repository.products + "/countersign", ["worker", "--config", "/nonexistent/countersign.json"], output: output)
    #expect(try await process.ended() == 2)
    let text = String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self)
    #expect(text.contains("/nonexistent/countersign.json"))
    try FileManager.default.removeItem(atPath: output)
  }
}

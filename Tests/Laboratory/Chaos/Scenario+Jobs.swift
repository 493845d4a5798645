import AMQP
import EventLoop
import Fleets
import Messaging
import Simulator
import TestSupport

extension Scenario {
  /// Rows 9 to 11: poison among the jobs, long ways through the delay queues, and wrong clocks.
  static let jobs: [Scenario] = [
    Scenario(name: "poison", what: "deliveries that are no jobs among good ones") { chaos in
      let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "poison")
      let channel = try await connection.openChannel()
      try await channel.enableConfirms()
      let bodies = [
        "not JSON", "{}", "[]", "{\"format\":0,\"synchronizationId\":\"s\"}",
        "{\"format\":1,\"synchronizationId\":\"s\",\"publisherId\":1,\"customerId\":\"1\",\"transactionId\":\"1/2\","
          + "\"registeredAt\":1}",
      ]
      var buried = 0
      while chaos.goesOn {
        try await chaos.pause(0.05...0.15)
        let body = bodies.randomElement(using: &chaos.random)!
        chaos.injected("poison")
        try await channel.publish(
          AMQPMessage(exchange: "", routingKey: chaos.fleet.topology.jobs, messageID: "p", body: Array(body.utf8)))
        buried += 1
      }
      let dead = Mailbox<AMQPDelivery>(of: "dead jobs")
      try await channel.consume(chaos.fleet.topology.deadJobs, tag: "dead") { dead.put($0) }
      let expected = buried
      try await eventually("the poison is in the dead-letter queue") { dead.all.count >= expected }
      let withoutReason = dead.all.filter { $0.properties.headers["countersign-reason"]?.string == nil }
      guard dead.all.count == expected, withoutReason.isEmpty else {
        throw ScenarioFailure(
          description:
            "\(expected) poison messages, \(dead.all.count) dead ones, \(withoutReason.count) without a reason")
      }
      for delivery in dead.all { channel.acknowledge(delivery) }
      await connection.close()
    },
    Scenario(
      name: "crash", what: "a job that crashes every worker that runs it",
      expectations: Verdict.Expectations(exceptions: ["crash": ["INTERNAL_ERROR"]])
    ) { chaos in
      let crash = ["COUNTERSIGN_TEST_CRASH_TRANSACTION": "1009999999999"]
      try await chaos.replace(Chaos.workers, with: crash)
      let answer = await chaos.register("crash", "1009999999999", Chaos.gateways[0])
      guard answer == .accepted else { throw ScenarioFailure(description: "the crashing job: \(answer)") }
      try await chaos.restartWorkers(with: crash, until: "crash")
      // The guilty job leaves a copy with a reason. The checker verifies that the fleet gave up no other job.
      let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "crash")
      let channel = try await connection.openChannel()
      let dead = Mailbox<AMQPDelivery>(of: "dead jobs")
      try await channel.consume(chaos.fleet.topology.deadJobs, tag: "dead") { dead.put($0) }
      let copies = try await dead.wait(for: 1)
      await connection.close()
      let reason = copies.first?.properties.headers["countersign-reason"]?.string ?? ""
      guard reason.contains("did not end") else { throw ScenarioFailure(description: "buried with: \(reason)") }
      try await chaos.loadEnds()
      // The transaction may be registered again at the end, and must not crash any worker then.
      try await chaos.replace(Chaos.workers)
    },
    Scenario(
      name: "tiers", what: "jobs go round through two delay queues several times",
      environment: [
        "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS":
          (Array(repeating: "1,2", count: 4)
          + Array(repeating: "1", count: 90)).joined(separator: ",")
      ],
      inject: { chaos in
        chaos.injected("every call fails")
        chaos.fleet.simulator.weather = .failing
        while chaos.goesOn { try await chaos.pause(0.2...0.4) }
        // Six waits are three rounds through both queues, with a call before and after each wait.
        let waiting = chaos.history.accepted.map(\.transaction)
        try await eventually("every job has been through both queues three times") {
          let calls = chaos.history.calls.reduce(into: [:]) { $0[$1.transaction, default: 0] += 1 }
          return waiting.allSatisfy { calls[$0, default: 0] >= 7 }
        }
        chaos.fleet.simulator.weather = .fair
      },
      heal: { $0.fleet.simulator.weather = .fair }),
    Scenario(
      name: "clocks", what: "one worker's clock 10 minutes ahead, one's 10 minutes behind, and 429s",
      environment: limited,
      expectations: Verdict.Expectations(needsBudgetWait: true, callsPerSecond: tightBudget)
    ) { chaos in
      await chaos.fleet.kill(Chaos.workers)
      let offsets = [("worker-1", "600"), ("worker-2", "-600")]
      for (name, offset) in offsets {
        chaos.injected("\(name) \(offset) s")
        try chaos.fleet.start(name, with: ["COUNTERSIGN_TEST_CLOCK_OFFSET_SECONDS": offset])
      }
      for (name, _) in offsets { try await chaos.fleet.ready(name) }
      // By the slow clock, Apple's pauses would last ten minutes more; by the fast one they would be over.
      repeat {
        try await chaos.pause(0.2...0.8)
        chaos.injected("429")
        chaos.fleet.simulator.weather = .rateLimited(milliseconds: 3000)
        try await chaos.pause(0.2...0.5)
        chaos.fleet.simulator.weather = .fair
        if chaos.goesOn { try await chaos.pause(3...4) }
      } while chaos.goesOn
      try await chaos.restart(["worker-3"])
    },
  ]
}

extension Chaos {
  /// Restarts each worker that dies, as something always does in production, until a synchronization is told. Each
  /// death has the patience of a test.
  fileprivate func restartWorkers(with faults: [String: String], until id: String) async throws {
    var isTold: Bool { fleet.events.all.contains { $0.synchronizationId == id } }
    while !isTold {
      var dead: [String] = []
      try await eventually("\(id) kills a worker, or is told") {
        dead = Self.workers.filter { self.fleet.roles[$0]?.process.status != nil }
        return !dead.isEmpty || isTold
      }
      for name in dead {
        injected("crash of \(name)")
        // The next death may come before it says that it is ready.
        try fleet.start(name, with: faults)
      }
    }
  }
}

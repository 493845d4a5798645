import EventLoop
import Fleets
import Glibc
import HTTP
import TestSupport

extension Scenario {
  /// Rows 4 to 6: RabbitMQ and Redis restart, die, lose their data, and run short of memory.
  static let servers: [Scenario] = [
    Scenario(name: "rabbitmq-restart", what: "RabbitMQ restarted") { chaos in
      try await chaos.breakServer(.rabbitmq, "restart") { try await $0.stop(.rabbitmq) }
    },
    Scenario(name: "rabbitmq-kill", what: "RabbitMQ killed with SIGKILL") { chaos in
      try await chaos.breakServer(.rabbitmq, "kill") { try await $0.kill(.rabbitmq) }
    },
    Scenario(
      name: "rabbitmq-wipe", what: "RabbitMQ killed, its data deleted",
      expectations: Verdict.Expectations(losesQueues: true, allowsSweep: true)
    ) { chaos in
      try await chaos.breakServer(.rabbitmq, "wipe") {
        try await $0.kill(.rabbitmq)
        try await $0.wipe(.rabbitmq)
      }
    },
    Scenario(
      name: "redis-restart", what: "Redis restarted, with four doors", environment: limited,
      expectations: Verdict.Expectations(hasDoors: true, needsBudgetWait: true, callsPerSecond: tightBudget)
    ) { chaos in
      try await chaos.breakServer(.redis, "restart") { try await $0.stop(.redis) }
    },
    Scenario(
      name: "redis-kill", what: "Redis killed with SIGKILL", environment: limited,
      expectations: Verdict.Expectations(needsBudgetWait: true, callsPerSecond: tightBudget)
    ) { chaos in
      try await chaos.breakServer(.redis, "kill") { try await $0.kill(.redis) }
    },
    Scenario(
      name: "redis-wipe", what: "Redis killed, its data deleted",
      expectations: Verdict.Expectations(forgetsClaims: true)
    ) { chaos in
      try await chaos.breakServer(.redis, "wipe") {
        try await $0.kill(.redis)
        try await $0.wipe(.redis)
      }
    },
    Scenario(
      name: "rabbitmq-alarm", what: "RabbitMQ's memory alarm",
      environment: ["COUNTERSIGN_RABBITMQ_HEARTBEAT_SECONDS": "2"],
      inject: { chaos in
        var round = 0
        while chaos.goesOn || round == 0 {
          try await chaos.pause(0.5...1)
          try await chaos.standAnAlarm(round)
          if chaos.goesOn { try await chaos.pause(1...2) }
          round += 1
        }
      },
      heal: { _ in try await TestServers.current!.endAlarm() }),
  ]
}

extension Chaos {
  /// Takes a server down again and again as long as registrations come, and starts it again each time.
  func breakServer(
    _ server: TestServers.Server, _ fault: String, _ down: @LoopActor (TestServers) async throws -> Void
  ) async throws {
    let servers = TestServers.current!
    repeat {
      try await pause(1...1.5)
      injected("\(fault) \(server.rawValue)")
      try await down(servers)
      try await pause(0.1...1)
      try await servers.start(server)
      // After a start, a broker needs a moment to restore its queues. The next fault waits until the fleet is whole.
      for name in Chaos.roles { try await fleet.ready(name) }
      try await fleet.subscribed()
    } while goesOn
  }

  /// Raises the memory alarm with jobs in the queue. Checks, as long as it lasts, which work goes on and which work
  /// stops.
  fileprivate func standAnAlarm(_ round: Int) async throws {
    let waiting = Dictionary(
      uniqueKeysWithValues: (0..<20).map { ("waiting-\(round)-\($0)", "1109\(1_000_000 + round * 100 + $0)") })
    // No worker takes the jobs before the alarm: a job that was already in a socket would prove nothing.
    await fleet.kill(Self.workers)
    try await registerAll(waiting)
    injected("memory alarm")
    try await TestServers.current!.raiseAlarm()
    for name in Self.workers { try fleet.start(name) }

    // Consuming continues.
    // A call may meet a connection that the simulator resets. Such a job was taken, and its retry waits for the broker.
    try await eventually("the workers take jobs during the alarm") {
      let (asked, retried) = (self.asked, fleet.logged("\"event\":\"retrying\""))
      return waiting.allSatisfy { id, transaction in
        asked.contains(transaction) || retried.contains { $0.contains("\"synchronizationId\":\"\(id)\"") }
      }
    }
    let losses = fleet.logged("\"event\":\"connection lost\"").count
    // A gateway learns of the alarm only when it publishes, so the checker asks each gateway until it says no.
    for gateway in Self.gateways {
      var number = 0
      try await eventually("\(gateway) is not ready") {
        await self.register("alarm-\(round)-\(gateway)-\(number)", "1119\(1_000_000 + number)", gateway)
        number += 1
        return try await self.fleet.send("GET", self.fleet.url("/readyz", gateway: gateway)).status == 503
      }
      // A 503 without Retry-After would count as another answer.
      let answer = await register("refused-\(round)-\(gateway)", "1119999999", gateway)
      guard answer == .unavailable else {
        throw ScenarioFailure(description: "\(gateway) answered \(answer) during the alarm")
      }
    }
    // The pause is longer than two heartbeats, after which either side gives up a silent peer.
    try await pause(5...6)
    guard fleet.logged("\"event\":\"connection lost\"").count == losses else {
      throw ScenarioFailure(description: "connections were lost during the alarm")
    }
    try await TestServers.current!.endAlarm()
    for name in Self.roles { try await fleet.ready(name) }
  }
}

import EventLoop
import HTTPClient
import TestSupport

extension Scenario {
  /// Rows 4 to 6: RabbitMQ and Redis restarted, killed, wiped, and short of memory.
  static let servers: [Scenario] = [
    Scenario(name: "rabbitmq-restart", what: "RabbitMQ restarted", environment: patient) { chaos in
      try await chaos.breakServer(.rabbitmq, "restart") { try await $0.stop(.rabbitmq) }
    },
    Scenario(name: "rabbitmq-kill", what: "RabbitMQ killed with SIGKILL", environment: patient) { chaos in
      try await chaos.breakServer(.rabbitmq, "kill") { try await $0.kill(.rabbitmq) }
    },
    Scenario(
      name: "rabbitmq-wipe", what: "RabbitMQ killed, its data deleted", environment: patient,
      expectations: Verdict.Expectations(losesQueues: true)
    ) { chaos in
      try await chaos.breakServer(.rabbitmq, "wipe") {
        try await $0.kill(.rabbitmq)
        try await $0.wipe(.rabbitmq)
      }
    },
    Scenario(name: "redis-restart", what: "Redis restarted", environment: patient) { chaos in
      try await chaos.breakServer(.redis, "restart") { try await $0.stop(.redis) }
    },
    Scenario(name: "redis-kill", what: "Redis killed with SIGKILL", environment: patient) { chaos in
      try await chaos.breakServer(.redis, "kill") { try await $0.kill(.redis) }
    },
    Scenario(
      name: "redis-wipe", what: "Redis killed, its data deleted", environment: patient,
      expectations: Verdict.Expectations(
        results: ["PURCHASE_SYNCHRONIZED"], forgetsStatuses: true)
    ) { chaos in
      try await chaos.breakServer(.redis, "wipe") {
        try await $0.kill(.redis)
        try await $0.wipe(.redis)
      }
    },
    Scenario(
      name: "rabbitmq-alarm", what: "RabbitMQ's memory alarm", environment: patient,
      inject: { chaos in
        var isFirst = true
        while chaos.goesOn || isFirst {
          isFirst = false
          try await chaos.pause(0.5...1)
          chaos.injected("memory alarm")
          try await TestServers.current!.raiseAlarm()
          try await eventually("the gateways see the alarm", within: .seconds(30)) {
            let answer = try? await chaos.fleet.send("GET", chaos.fleet.url("/readyz"))
            return answer?.status == 503 || !chaos.goesOn
          }
          try await chaos.pause(1...3)
          try await TestServers.current!.endAlarm()
          try await chaos.pause(1...2)
        }
      },
      heal: { _ in try await TestServers.current!.endAlarm() }),
  ]
}

extension Chaos {
  /// Takes a server down as long as registrations come, and brings it up again each time.
  func breakServer(
    _ server: TestServers.Server, _ fault: String, _ down: @LoopActor (TestServers) async throws -> Void
  ) async throws {
    let servers = TestServers.current!
    var isFirst = true
    while goesOn || isFirst {
      isFirst = false
      try await pause(1...1.5)
      injected("\(fault) \(server.rawValue)")
      try await down(servers)
      try await pause(0.1...1)
      try await servers.start(server)
      // What a broker makes of its queues is not there at once; the next fault waits for a fleet that is whole.
      for name in Chaos.roles { try await fleet.ready(name) }
      try await fleet.subscribed()
    }
  }
}

import EventLoop
import Glibc
import Simulator
import TestSupport

extension Scenario {
  /// Rows 1 to 3: processes that are killed, stopped and restarted.
  static let processes: [Scenario] = [
    Scenario(
      name: "none", what: "nothing is broken",
      expectations: Verdict.Expectations(isGraceful: true, isUndisturbed: true)
    ) { chaos in
      while chaos.goesOn { try await chaos.pause(0.1...0.2) }
    },
    Scenario(
      name: "kill-one", what: "SIGKILL of any role, one at a time", environment: limited(),
      expectations: Verdict.Expectations(callsPerSecond: tightBudget)
    ) { chaos in
      while chaos.goesOn {
        try await chaos.pause(0.3...1.2)
        let name = Chaos.roles.randomElement(using: &chaos.random)!
        chaos.injected("kill \(name)")
        await chaos.fleet.kill(name)
        try await chaos.restart([name])
      }
    },
    Scenario(
      name: "kill-all", what: "SIGKILL of every role at once", environment: limited(),
      expectations: Verdict.Expectations(callsPerSecond: tightBudget)
    ) { chaos in
      while chaos.goesOn {
        try await chaos.pause(0.8...1.6)
        chaos.injected("kill all")
        for name in Chaos.roles { chaos.fleet.roles[name]?.process.send(SIGKILL) }
        for name in Chaos.roles { await chaos.fleet.roles[name]?.process.ended() }
        try await chaos.restart(Chaos.roles)
      }
    },
    Scenario(
      name: "stop-worker", what: "SIGSTOP of a worker for longer than its lease, then SIGCONT",
      expectations: Verdict.Expectations(
        exceptions: ["late": ["PURCHASE_SYNCHRONIZED", "VERIFICATION_FAILED"]], needsStaleRun: true, needsSweep: true),
      inject: { chaos in
        var takenOver = 0
        var round = 0
        // A round can happen to stop a worker that has none of the late ones in hand.
        while chaos.goesOn || takenOver == 0 && round < 5 {
          takenOver += try await chaos.stopWorkerWithJobsInHand(round)
          round += 1
        }
        guard takenOver > 0 else { throw ScenarioFailure(description: "no job was taken over in \(round) rounds") }
      }, heal: { $0.fleet.simulator.localWeather = [:] }),
    Scenario(
      name: "rolling", what: "SIGTERM and restart of every role, one after the other",
      expectations: Verdict.Expectations(isGraceful: true)
    ) { chaos in
      var isFirst = true
      while chaos.goesOn || isFirst {
        for name in Chaos.roles where chaos.goesOn || isFirst {
          try await chaos.pause(0.05...0.2)
          await chaos.readMetrics(name)
          chaos.injected("terminate \(name)")
          chaos.fleet.roles[name]?.process.send(SIGTERM)
          let status = await chaos.fleet.roles[name]?.process.ended()
          guard status == 0 else {
            throw ScenarioFailure(
              description: "\(name) ended with \(status ?? -1): \(chaos.fleet.log(name).suffix(600))")
          }
          try await chaos.restart([name])
        }
        isFirst = false
      }
    },
  ]
}

extension Chaos {
  /// Stops a worker while it has calls to Apple in hand whose answers are forged. Whoever takes its jobs over gets genuine
  /// ones, so that an effect of the late run would show: as a second version, or as the wrong result.
  ///
  /// - Returns: how many jobs were taken over.
  fileprivate func stopWorkerWithJobsInHand(_ round: Int) async throws -> Int {
    try await pause(0.2...0.6)
    let late = Dictionary(
      uniqueKeysWithValues: (0..<15).map { ("late-\(round)-\($0)", "1009\(1_000_000 + round * 100 + $0)") })
    for transaction in late.values { fleet.simulator.localWeather[transaction] = [.slow(.seconds(2)), .forged] }
    for (id, transaction) in late.sorted(by: { $0.key < $1.key }) {
      guard await register(id, transaction, Self.gateways[0]) == .accepted else {
        throw ScenarioFailure(description: "\(id) was not accepted")
      }
    }
    let wanted = Set(late.values)
    try await eventually("Apple was asked for all") { wanted.isSubset(of: Set(self.history.calls.map(\.transaction))) }
    let name = Self.workers.randomElement(using: &random)!
    injected("stop \(name)")
    fleet.roles[name]?.process.send(SIGSTOP)
    fleet.simulator.localWeather = [:]
    // Its lease is 3 seconds long, and the sweep brings its jobs to the others; broken or not, it must be woken.
    let isTold: @LoopActor () -> Bool = {
      Set(late.keys).isSubset(of: Set(self.history.events.map(\.synchronizationId)))
    }
    do {
      try await eventually("others have taken its jobs over", within: .seconds(60)) { isTold() }
    } catch {
      fleet.roles[name]?.process.send(SIGCONT)
      throw error
    }
    fleet.roles[name]?.process.send(SIGCONT)
    return history.events.count { late[$0.synchronizationId] != nil && $0.result == "PURCHASE_SYNCHRONIZED" }
  }
}

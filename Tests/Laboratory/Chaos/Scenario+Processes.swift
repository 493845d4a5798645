import EventLoop
import Fleets
import Glibc
import Simulator
import TestSupport

extension Scenario {
  /// Rows 1 to 3: kills, stops and restarts of processes.
  static let processes: [Scenario] = [
    Scenario(
      name: "none", what: "nothing is broken",
      expectations: Verdict.Expectations(isGraceful: true, isUndisturbed: true)
    ) { chaos in
      try await chaos.loadEnds()
    },
    Scenario(
      name: "kill-one", what: "SIGKILL of any role, one at a time, with four doors", environment: limited,
      expectations: Verdict.Expectations(hasDoors: true, needsBudgetWait: true, callsPerSecond: tightBudget)
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
      name: "kill-all", what: "SIGKILL of every role at once", environment: limited,
      expectations: Verdict.Expectations(needsBudgetWait: true, callsPerSecond: tightBudget)
    ) { chaos in
      while chaos.goesOn {
        try await chaos.pause(0.8...1.6)
        chaos.injected("kill all")
        for name in Chaos.roles { chaos.fleet.roles[name]?.process.send(SIGKILL) }
        for name in Chaos.roles { try await chaos.fleet.roles[name]?.process.ended() }
        try await chaos.restart(Chaos.roles)
      }
    },
    Scenario(
      name: "stop-worker", what: "SIGSTOP of a worker for longer than its lease, then SIGCONT",
      expectations: Verdict.Expectations(
        exceptions: ["late": ["PURCHASE_SYNCHRONIZED", "VERIFICATION_FAILED"]], needsStaleRun: true, allowsSweep: true),
      inject: { chaos in
        var round = 0
        // A round may stop a worker that has none of the late jobs in hand, or one whose lease the store has given up.
        while chaos.goesOn || chaos.refusedLateResults == 0 && round < 8 {
          try await chaos.stopWorkerWithJobsInHand(round)
          round += 1
        }
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
          let status = try await chaos.fleet.roles[name]?.process.ended()
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
  /// How many results workers have dropped so far, because their leases had ended.
  fileprivate var refusedLateResults: Int { fleet.logged(Chaos.staleRun).count }

  /// Stops a worker that waits for forged answers of Apple. Wakes it while other workers run the same jobs and wait
  /// for genuine answers.
  ///
  /// The stopped worker's results come first, and must not take effect: one that did would show as a wrong result.
  fileprivate func stopWorkerWithJobsInHand(_ round: Int) async throws {
    try await pause(0.2...0.6)
    let late = Dictionary(
      uniqueKeysWithValues: (0..<15).map { ("late-\(round)-\($0)", "1009\(1_000_000 + round * 100 + $0)") })
    for transaction in late.values { fleet.simulator.localWeather[transaction] = [.slow(.seconds(2)), .forged] }
    try await registerAll(late)
    let wanted = Set(late.values)
    try await eventually("Apple was asked for all") { wanted.isSubset(of: self.asked) }
    let name = Self.workers.randomElement(using: &random)!
    injected("stop \(name)")
    fleet.roles[name]?.process.send(SIGSTOP)
    defer { fleet.roles[name]?.process.send(SIGCONT) }
    for transaction in late.values { fleet.simulator.localWeather[transaction] = [.slow(.seconds(4))] }
    // The stopped worker's lease lasts 3 seconds; then the sweep brings its jobs to the others. If it has no jobs, all
    // of them end by themselves.
    let first = history.calls.count
    try await eventually("others have its jobs in hand") {
      self.history.calls[first...].contains { wanted.contains($0.transaction) } || self.areTold(late.keys)
    }
    fleet.roles[name]?.process.send(SIGCONT)
    try await eventually("all are told") { self.areTold(late.keys) }
  }

  private func areTold(_ ids: some Sequence<String>) -> Bool {
    ids.allSatisfy { told[$0] != nil }
  }
}

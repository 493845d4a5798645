import EventLoop
import Glibc
import TestSupport

extension Scenario {
  /// Rows 1 to 3: processes that are killed, stopped and restarted.
  static let processes: [Scenario] = [
    Scenario(
      name: "none", what: "nothing is broken", environment: lateSweep,
      expectations: Verdict.Expectations(answersEverything: true, tellsOnce: true, isUndisturbed: true)
    ) { chaos in
      while chaos.goesOn { try await chaos.pause(0.1...0.2) }
    },
    Scenario(name: "kill-one", what: "SIGKILL of any role, one at a time") { chaos in
      while chaos.goesOn {
        try await chaos.pause(0.3...1.2)
        let name = Chaos.roles.randomElement(using: &chaos.random)!
        chaos.injected("kill \(name)")
        await chaos.fleet.kill(name)
        try await chaos.restart([name])
      }
    },
    Scenario(name: "kill-all", what: "SIGKILL of every role at once") { chaos in
      while chaos.goesOn {
        try await chaos.pause(0.8...1.6)
        chaos.injected("kill all")
        for name in Chaos.roles { chaos.fleet.roles[name]?.process.send(SIGKILL) }
        for name in Chaos.roles { await chaos.fleet.roles[name]?.process.ended() }
        try await chaos.restart(Chaos.roles)
      }
    },
    Scenario(name: "stop-worker", what: "SIGSTOP of a worker for longer than its lease, then SIGCONT") { chaos in
      var isFirst = true
      while chaos.goesOn || isFirst {
        isFirst = false
        try await chaos.pause(0.2...0.6)
        let name = Chaos.workers.randomElement(using: &chaos.random)!
        chaos.injected("stop \(name)")
        chaos.fleet.roles[name]?.process.send(SIGSTOP)
        // Its lease is 3 seconds long.
        try await chaos.pause(4...6)
        chaos.fleet.roles[name]?.process.send(SIGCONT)
      }
    },
    Scenario(
      name: "rolling", what: "SIGTERM and restart of every role, one after the other", environment: lateSweep,
      expectations: undisturbed
    ) { chaos in
      var isFirst = true
      while chaos.goesOn || isFirst {
        isFirst = false
        for name in Chaos.roles where chaos.goesOn {
          try await chaos.pause(0.05...0.2)
          chaos.injected("terminate \(name)")
          chaos.fleet.roles[name]?.process.send(SIGTERM)
          let status = await chaos.fleet.roles[name]?.process.ended()
          guard status == 0 else {
            throw ScenarioFailure(
              description: "\(name) ended with \(status ?? -1): \(chaos.fleet.log(name).suffix(600))")
          }
          try await chaos.restart([name])
        }
      }
    },
  ]

  /// With the sweep after four seconds, as the other rows have it, a slow machine would see events told twice.
  private static let lateSweep = ["COUNTERSIGN_WORKER_SWEEP_AFTER_SECONDS": "120"]
  private static let undisturbed = Verdict.Expectations(answersEverything: true, tellsOnce: true)
}

/// A part that did not do what the scenario needs it to do.
struct ScenarioFailure: Error, CustomStringConvertible {
  let description: String
}

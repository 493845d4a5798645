import EventLoop
import Fleets
import Glibc
import TestSupport

extension Scenario {
  /// What docs/operate/upgrade.md says: the ledger's migration first, while the earlier roles run, and then one role
  /// after the other. The way back is the same without the migration.
  static let upgrade = Scenario(
    name: "upgrade", what: "an earlier build gives way to this one, comes back, and gives way again",
    needsEarlier: true,
    leastSeconds: 60, expectations: Verdict.Expectations(isGraceful: true)
  ) { chaos in
    try await chaos.pause(0.3...0.6)
    chaos.fleet.executable = RunningFleet.thisBuild
    let before = try await chaos.fleet.count("schema_steps")
    chaos.injected("migrate")
    let told = try await chaos.fleet.command(["migrate"])
    chaos.history.measures.append(told.split(separator: "\n").joined(separator: "; "))
    // Without a step between the builds, nothing would be shown of old roles on a newer schema.
    guard try await chaos.fleet.count("schema_steps") > before else {
      throw ScenarioFailure(
        description: "the schema of the earlier build has all \(before) steps: name an earlier commit")
    }
    try await chaos.replaceAll("this build")
    chaos.fleet.executable = Scenario.earlierBuild ?? RunningFleet.thisBuild
    try await chaos.replaceAll("the earlier build")
    chaos.fleet.executable = RunningFleet.thisBuild
    try await chaos.replaceAll("this build")
    try await chaos.loadEnds()
  }
}

extension Chaos {
  /// Lets each role end and starts it again, one after the other. Both builds run beside each other meanwhile.
  ///
  /// The order is the best one of docs/operate/upgrade.md: every job finds a worker that understands it.
  fileprivate func replaceAll(_ build: String) async throws {
    for name in Self.workers + Self.notifiers + Self.gateways {
      await readMetrics(name)
      injected("\(name) is \(build)")
      fleet.roles[name]?.process.send(SIGTERM)
      let status = try await fleet.roles[name]?.process.ended()
      guard status == 0 else {
        throw ScenarioFailure(description: "\(name) ended with \(status ?? -1): \(fleet.log(name).suffix(600))")
      }
      try await restart([name])
    }
  }
}

import EventLoop

/// One row of the fault table: what is broken, how the fleet is set up for it, and what may be expected then.
struct Scenario {
  let name: String
  /// For the table.
  let what: String
  /// Overrides of the fleet's configuration.
  var environment: [String: String] = [:]
  /// Whether a proxy stands between every two parts.
  var needsNetwork = false
  /// How long registrations come at least, in seconds; not in a quick run.
  var leastSeconds = 0.0
  var expectations = Verdict.Expectations()
  /// Breaks things as long as registrations come.
  let inject: @LoopActor (Chaos) async throws -> Void
  /// Mends what was left broken.
  var heal: @LoopActor (Chaos) async throws -> Void = { _ in }

  /// When the sweep looks: soon where it has work, and else so late that a message that was lost cannot hide behind it.
  func sweepAfter(_ size: Chaos.Size) -> Double {
    if expectations.isGraceful { return 120 }
    return expectations.allowsSweep || size.isQuick ? 4 : 30
  }

  /// What may be expected of a run of a size.
  func expectations(_ size: Chaos.Size) -> Verdict.Expectations {
    var expectations = expectations
    guard size.isQuick else { return expectations }
    // Its sweep looks early, and may find what is only slow; and its load is too small to use up a budget.
    expectations.allowsSweep = true
    expectations.needsBudgetWait = false
    return expectations
  }

  /// A day of retries, at a pace that a run can wait for; for every scenario that has no schedule of its own.
  static let patient = [
    "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": (["0.2", "0.2"] + Array(repeating: "1", count: 400)).joined(
      separator: ",")
  ]

  /// A budget of Apple's that the load can use up, in calls a second.
  static let tightBudget = 60

  /// Nothing is covered by an answer of a moment ago, so that the budget is needed.
  static let limited = [
    "COUNTERSIGN_APP_STORE_BUDGET_SCALE": String(Double(tightBudget) / 50),
    "COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0",
  ]

  static let all: [Scenario] = processes + servers + [network] + apple + jobs
}

/// A part that did not do what the scenario needs it to do.
struct ScenarioFailure: Error, CustomStringConvertible {
  let description: String
}

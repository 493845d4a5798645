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
  var expectations = Verdict.Expectations()
  /// Breaks things as long as registrations come.
  let inject: @LoopActor (Chaos) async throws -> Void
  /// Mends what was left broken.
  var heal: @LoopActor (Chaos) async throws -> Void = { _ in }

  /// A day of retries, at a pace that a run can wait for.
  static let patient = [
    "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": (["0.2", "0.2"] + Array(repeating: "1", count: 90)).joined(
      separator: ",")
  ]

  static let all: [Scenario] = processes + servers + [network] + apple + jobs
}

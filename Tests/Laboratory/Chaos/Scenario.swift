import EventLoop
import Fleets
import FoundationEssentials
import Glibc

/// One row of the fault table: the fault, the configuration of the fleet, and the expectations.
struct Scenario {
  let name: String
  /// The row's text in the table.
  let what: String
  /// Overrides of the fleet's configuration.
  var environment: [String: String] = [:]
  /// Whether a proxy stands between every two parts.
  var needsNetwork = false
  /// Whether the ledger has a synchronous standby.
  var needsStandby = false
  /// A server whose data lie on a small disk.
  var confined: TestServers.Server?
  /// Whether a node of RabbitMQ must have a network of its own, which only root can make.
  var needsPartition = false
  /// Whether the fleet begins with the roles of an earlier build.
  var needsEarlier = false
  /// Which servers it needs.
  var place = Place.alone
  /// The publishers of the load, if it needs another number than the run's size has.
  var publishers: Int?
  /// The registrations a second, if they must be fewer than those of the run's size. A quick run has few.
  var mostPerSecond: Double?
  /// Whether another publisher than the load's has opened its doors.
  var hasOtherDoors = false
  /// Whether the doors are open, and their clients come too.
  var hasDoors: Bool { expectations.hasDoors }
  /// The least time during which registrations come, in seconds; not in a quick run.
  var leastSeconds = 0.0
  var expectations = Verdict.Expectations()
  /// Whether a customer who was granted access may lose it.
  var mayLoseAccess = false
  /// Breaks parts as long as registrations come.
  let inject: @LoopActor (Chaos) async throws -> Void
  /// Repairs the parts that are still broken.
  var heal: @LoopActor (Chaos) async throws -> Void = { _ in }

  /// When the sweep looks. If it has work, it looks soon; otherwise so late that it cannot hide a lost message.
  func sweepAfter(_ size: Chaos.Size) -> Double {
    if expectations.isGraceful { return 120 }
    return expectations.allowsSweep || size.isQuick ? 4 : 30
  }

  /// The expectations of a run of a size.
  func expectations(_ size: Chaos.Size) -> Verdict.Expectations {
    var expectations = expectations
    guard size.isQuick else { return expectations }
    // Where something breaks, the sweep of a quick run looks early, and may find a job that is only slow.
    if !expectations.isGraceful { expectations.allowsSweep = true }
    // The load is too small to use up a budget.
    expectations.needsBudgetWait = false
    // A busy machine makes every delay longer.
    expectations.mostDelay = nil
    return expectations
  }

  /// A day of retries, at a pace that suits a test run; for every scenario without a schedule of its own.
  static let patient = [
    "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": (["0.2", "0.2"] + Array(repeating: "1", count: 400)).joined(
      separator: ",")
  ]

  /// A budget at Apple that the load can use up, in calls a second.
  static let tightBudget = 60

  /// No recent answer covers a registration, so each one needs the budget.
  static let limited = [
    "COUNTERSIGN_APP_STORE_BUDGET_SCALE": String(Double(tightBudget) / 50),
    "COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0",
  ]

  static let all: [Scenario] =
    processes + [upgrade] + servers + ledger + disks + [badSubscriber, strangers, crowd, collector, network] + apple
    + jobs + [fatal] + clusters

  /// The scenarios for servers with several nodes of each kind, or with one.
  static func fitting(cluster: Bool) -> [Scenario] { all.filter { $0.place != (cluster ? .alone : .cluster) } }

  /// The scenarios that this run can do.
  static var present: [Scenario] {
    fitting(cluster: TestServers.current?.isCluster == true).filter { !$0.lacksRights }
  }

  /// Whether it lacks what not every run has: only root makes the networks of nodes and mounts small disks, and an
  /// upgrade needs an earlier build.
  var lacksRights: Bool {
    needsPartition && TestServers.current?.canPartition != true || confined != nil && geteuid() != 0
      || needsEarlier && Self.earlierBuild == nil
  }

  /// The executable with which the fleet begins; `nil` for this build's.
  var earlier: String? { needsEarlier ? Self.earlierBuild : nil }

  /// The executable of an earlier commit: `ops/chaos --from COMMIT` builds it.
  static let earlierBuild = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_EARLIER"]

  /// The servers that a scenario needs.
  enum Place {
    /// One of each kind.
    case alone
    /// Several nodes of each kind.
    case cluster
    /// Either.
    case both
  }
}

/// A part that did not do what the scenario needs.
struct ScenarioFailure: Error, CustomStringConvertible {
  let description: String
}

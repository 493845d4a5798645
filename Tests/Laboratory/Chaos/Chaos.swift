import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Simulator
import TestSupport

/// One run: a whole fleet under load, a scenario that breaks it, and the history of the run.
@LoopActor
final class Chaos {
  /// How big a run is.
  struct Size {
    var registrations = 5000
    var transactions = 1000
    var perSecond = 250.0
    /// The publishers of the load.
    var publishers = Chaos.mostPublishers
    /// The calls of doors, and the purchases of each door.
    var doorsPerSecond = 40.0
    var doorTransactions = 50
    /// A small run is for every day: its outages are shorter, and it does not require that every fault happened.
    var isQuick = false

    /// Two seconds of load, in which each kind of purchase comes several times.
    static let quick = Size(
      registrations: 150, transactions: 40, perSecond: 75, publishers: 3, doorsPerSecond: 20, doorTransactions: 8,
      isQuick: true)
  }

  static let gateways = ["gateway-1", "gateway-2"]
  static let workers = ["worker-1", "worker-2", "worker-3"]
  static let notifiers = ["notifier-1", "notifier-2"]
  static let roles = gateways + workers + notifiers

  let fleet: RunningFleet
  let size: Size
  /// The publishers of the load.
  let publishers: Int
  /// The kinds of purchases in the load.
  let kinds: [String]
  /// After how many seconds the sweep looks for synchronizations that no queue holds any more.
  let sweepAfter: Double
  /// Whether a customer who was granted access may lose it.
  let mayLoseAccess: Bool
  /// Whether the scenario deletes events that were told. The webhook is witness enough then.
  let losesQueues: Bool
  /// The random numbers of the faults. The load and the reading have their own, so their timing cannot change the
  /// sequence.
  var random: SeededRandom
  var loadRandom: SeededRandom
  var readRandom: SeededRandom
  var doorRandom: SeededRandom
  var history = History()
  /// Since when every subscriber of the scenario has a queue, in milliseconds since 1970.
  var subscribedAt: Int64 = 0
  /// Whether registrations still come: the scenario injects faults during that time.
  private(set) var goesOn = false
  /// The gateways that a load balancer would use. A restarted gateway is missing until it says that it is ready.
  private(set) var usable = Set(gateways)
  /// The customers that the scenario has named for transactions.
  var chosen: [String: Int] = [:]
  var statusReads: [Task<Void, Never>] = []
  var webhooksRead = 0
  var eventsRead = 0
  var changesRead = 0
  /// The last event of each synchronization that was told.
  var told: [String: History.Event] = [:]
  /// The registrations of the load that have no answer, or were accepted and have no event.
  var untold: Set<String> = []
  /// How many registrations of the load have no answer.
  var unanswered = 0

  private init(_ fleet: RunningFleet, _ scenario: Scenario, _ size: Size, seed: UInt64) {
    self.fleet = fleet
    var size = size
    if let most = scenario.mostPerSecond { size.perSecond = min(size.perSecond, most) }
    self.size = size
    publishers = scenario.publishers ?? size.publishers
    kinds = scenario.expectations.isGraceful ? Deserved.quietKinds : Deserved.kinds
    mayLoseAccess = scenario.mayLoseAccess
    losesQueues = scenario.expectations.losesQueues
    history.mayLoseAccess = scenario.mayLoseAccess
    sweepAfter = scenario.sweepAfter(size)
    random = SeededRandom(seed: seed)
    loadRandom = SeededRandom(seed: seed ^ 0x10ad)
    readRandom = SeededRandom(seed: seed ^ 0x4ead)
    doorRandom = SeededRandom(seed: seed ^ 0xd005)
  }

  /// Runs a scenario and judges its history. If the run fails or does not hold, the logs of all roles stay.
  static func run(
    _ scenario: Scenario, size: Size, seed: UInt64
  ) async throws -> (history: History, verdict: Verdict, folder: String) {
    if scenario.needsStandby { try await TestServers.current!.start(.standby) }
    if let server = scenario.confined { try await TestServers.current!.confine(server) }
    do {
      let result = try await runFleet(scenario, size: size, seed: seed)
      try await forgetServers(of: scenario)
      return result
    } catch {
      try await forgetServers(of: scenario)
      throw error
    }
  }

  /// Leaves the servers as the next scenario needs them.
  private static func forgetServers(of scenario: Scenario) async throws {
    if scenario.needsStandby { try await TestServers.current!.forgetStandby() }
    if let server = scenario.confined { try await TestServers.current!.release(server) }
  }

  private static func runFleet(
    _ scenario: Scenario, size: Size, seed: UInt64
  ) async throws -> (history: History, verdict: Verdict, folder: String) {
    var result: (History, Verdict, String)!
    let environment = Scenario.patient.merging(scenario.environment) { $1 }.merging([
      "COUNTERSIGN_WORKER_SWEEP_AFTER_SECONDS": "\(scenario.sweepAfter(size))"
    ]) { $1 }
    try await RunningFleet.with(
      roles, overrides: environment, throughProxies: scenario.needsNetwork, hasStandby: scenario.needsStandby,
      // No two publishers have one credential, and the load's publisher has the doors.
      hasDoors: scenario.hasOtherDoors, executable: scenario.earlier ?? RunningFleet.thisBuild,
      prepare: { fleet in
        try Chaos.writePublishers(scenario.publishers ?? size.publishers, scenario, fleet)
      },
      { fleet in
        let chaos = Chaos(fleet, scenario, size, seed: seed)
        do {
          try await chaos.run(scenario)
        } catch {
          fleet.keepsFolder = true
          throw ScenarioFailure(description: "\(error); the roles' logs are in \(fleet.folder)")
        }
        if scenario.expectations.isUndisturbed { chaos.history.repairs = await fleet.neededRepairs() }
        let verdict = Verdict(chaos.history, scenario.expectations(size))
        fleet.keepsFolder = !verdict.holds
        result = (chaos.history, verdict, fleet.folder)
      })
    return result
  }

  private func run(_ scenario: Scenario) async throws {
    // Workers may call until the fleet is closed, after the end of the scenario.
    fleet.simulator.onCall = { [weak self] call in
      // A call with a refused token or a reset counts against Apple's limit as well.
      self?.history.calls.append(
        History.Call(
          time: call.time, environment: call.environment, endpoint: call.endpoint, transaction: call.transactionId,
          connection: call.connection, isReset: call.status == 0, retryAt: call.retryAt))
    }
    let pulse = Pulse { [unowned self] in history.stalls.append((unixMilliseconds(), $0)) }
    defer { pulse.stop() }
    goesOn = true
    let load = Task { @LoopActor in
      await self.load(
        for: size.isQuick ? 0 : scenario.leastSeconds,
        mostWaiting: scenario.expectations.isGraceful ? Int(size.perSecond) : nil)
      self.goesOn = false
    }
    let visiting = Task { @LoopActor in if scenario.hasDoors { await self.visitDoors() } }
    let reading = Task { @LoopActor in await self.readAlong() }
    do {
      try await scenario.inject(self)
      await load.value
      await visiting.value
      try await scenario.heal(self)
    } catch {
      // The next scenario uses the same servers.
      load.cancel()
      reading.cancel()
      await load.value
      await visiting.value
      await reading.value
      for server in [TestServers.Server.rabbitmq, .redis] { try await TestServers.current!.start(server) }
      if !scenario.needsStandby { try await TestServers.current!.start(.postgres) }
      // The first failure is the one to tell.
      try? await scenario.heal(self)
      throw error
    }
    for name in Self.roles { try await fleet.ready(name) }
    try await settle()
    if scenario.hasDoors { try await readDoors() }
    try await registerAgain()
    try await settle()
    reading.cancel()
    await reading.value
    for read in statusReads { await read.value }
    try await readEntitlements()
    collect()
    await readStatuses()
    readLogs()
    history.ledgerDifferences = try await fleet.ledgerDifferences()
    for name in Self.roles { await readMetrics(name) }
    fleet.simulator.onCall = { _ in }
  }

  // MARK: Faults

  /// Whether every accepted registration has its event.
  var isAllTold: Bool {
    history.accepted.allSatisfy { told[$0.id] != nil }
  }

  /// Notes a fault and the part that it hit.
  func injected(_ fault: String) { history.faults.append(fault) }

  /// Waits for a random time.
  func pause(_ seconds: ClosedRange<Double>) async throws {
    try await EventLoop.sleep(for: .seconds(Double.random(in: seconds, using: &random)))
  }

  /// Starts roles and waits until they are ready.
  func restart(_ names: [String], with environment: [String: String] = [:]) async throws {
    usable.subtract(names)
    for name in names { try fleet.start(name, with: environment) }
    for name in names { try await fleet.ready(name) }
    usable.formUnion(names.filter(Self.gateways.contains))
  }

  /// Adds a role's counters to the history. Call it before the role's process ends, or the numbers are gone.
  func readMetrics(_ name: String) async {
    guard !Self.gateways.contains(name) else { return }
    do {
      history.redeliveries += Int(try await fleet.metric(name, "countersign_redeliveries_total"))
      guard Self.workers.contains(name) else { return }
      history.budgetWaits += Int(try await fleet.metric(name, "countersign_budget_waits_total"))
    } catch {
      history.unreadMetrics.append(name)
    }
  }

  /// Kills roles and starts them again, all at once.
  func replace(_ names: [String], with environment: [String: String] = [:]) async throws {
    usable.subtract(names)
    await fleet.kill(names)
    try await restart(names, with: environment)
  }

  /// Waits until the last registration. Each one has the patience of a test.
  ///
  /// - Throws: `NeverHappened`.
  func loadEnds() async throws {
    var (answers, deadline) = (-1, ContinuousClock.now)
    while goesOn {
      if history.registrations.count != answers {
        (answers, deadline) = (history.registrations.count, .now + .patience)
      }
      guard ContinuousClock.now < deadline else {
        throw NeverHappened("an answer to a registration, after \(answers) others,", within: .patience)
      }
      try await EventLoop.sleep(for: .milliseconds(50))
    }
  }
}

import EventLoop
import Fleets
import Formats
import TestSupport

/// Thousands of random lives through a whole fleet. Notifications get lost, come twice, late and out of order. Workers
/// are killed, and Redis loses everything once. At the end, the ledger must be as the simulator knows it.
@LoopActor
final class LifeRun {
  /// How big a run is.
  struct Size {
    var lives = 10_000
    /// How long the load lasts. The lives begin in its first third.
    var seconds = 300.0
    /// How long a month takes.
    var monthSeconds = 60.0
    /// What happens to a life besides, in the whole load.
    var actionsPerLife = 2.0
  }

  /// The limit for the time from the load's end until nothing differs.
  static let limit = Duration.seconds(900)

  let fleet: RunningFleet
  let size: Size
  let lives: RandomLives
  // Each part has random numbers of its own, so the timing of one does not change the others.
  var lifeRandom: SeededRandom
  var actionRandom: SeededRandom
  var clientRandom: SeededRandom
  var faultRandom: SeededRandom
  var row: LifeRow
  var accepted: Set<String> = []
  /// How many lives have begun.
  var begun = 0
  let start = ContinuousClock.now
  private var eventsRead = 0
  private var told: Set<String> = []
  private var owned: Set<Int> = []

  private init(_ fleet: RunningFleet, _ size: Size, seed: UInt64) {
    self.fleet = fleet
    self.size = size
    lives = RandomLives(count: size.lives)
    lifeRandom = SeededRandom(seed: seed)
    actionRandom = SeededRandom(seed: seed ^ 0xac7)
    clientRandom = SeededRandom(seed: seed ^ 0x10ad)
    faultRandom = SeededRandom(seed: seed ^ 0xfa17)
    row = LifeRow(seed: seed, begun: size.lives, loadSeconds: size.seconds)
  }

  /// Runs lives and judges them. If the run fails or does not hold, the logs of all roles stay.
  static func run(_ size: Size, seed: UInt64) async throws -> LifeRow {
    var row: LifeRow!
    let environment = Scenario.patient.merging([
      // A reading has all notifications of the run. It must not take all of the machine.
      "COUNTERSIGN_WORKER_HISTORY_INTERVAL_SECONDS": "60"
    ]) { $1 }
    try await RunningFleet.with(
      Chaos.roles, overrides: environment, hasDoors: false, lifeMonth: .seconds(size.monthSeconds),
      // The app belongs to the publisher that is compared.
      prepare: { try $0.writePublisher(RunningFleet.openPublisher, "\"customers\": \"open\"") },
      { fleet in
        let run = LifeRun(fleet, size, seed: seed)
        fleet.keepsFolder = true
        do {
          try await run.run()
        } catch {
          throw ScenarioFailure(description: "\(error); the roles' logs are in \(fleet.folder)")
        }
        fleet.keepsFolder = !run.row.holds
        if fleet.keepsFolder { run.row.folder = fleet.folder }
        row = run.row
      })
    return row
  }

  private func run() async throws {
    try await fleet.postNotifications(
      """
      "lose": 0.1, "repeat": 0.1, "delay": {"share": 0.2, "maxSeconds": 10}, "shuffle": true, "seed": \(row.seed)
      """)
    try await putCustomers()
    say("\(size.lives) lives begin")
    let faults = Task { @LoopActor in try await self.breakParts() }
    do {
      try await load()
      try await faults.value
    } catch {
      faults.cancel()
      throw error
    }
    try await fleet.holdTime()
    let end = ContinuousClock.now
    for name in Chaos.roles { try await fleet.ready(name) }
    try await settle(since: end)
    row.lives = try await fleet.lives().count
    row.notifications = try await fleet.notificationCounts()
    readEvents()
    row.lost = accepted.subtracting(told).sorted()
    row.accepted = accepted.count
    row.problems += try await fleet.ledgerDifferences().prefix(LifeRow.mostListed)
    row.judge()
  }

  // MARK: The truth

  /// Waits until nothing differs, and then until that is so at one instant.
  private func settle(since end: ContinuousClock.Instant) async throws {
    func elapsed() -> Double { (ContinuousClock.now - end).inSeconds }
    let deadline = end + Self.limit
    repeat {
      let found = try await comparison.differences()
      if found.count != row.differenceCount || found.isEmpty {
        say("\(Int(elapsed())) s after the load: \(found.count) differences")
        // Few of them stay.
        if found.count <= LifeRow.mostListed { for line in found { say("  \(line)") } }
      }
      row.note(found)
      if found.isEmpty { row.settledSeconds = elapsed() } else { try await EventLoop.sleep(for: .seconds(1)) }
    } while row.settledSeconds == nil && ContinuousClock.now < deadline
    guard row.settledSeconds != nil else { return }
    repeat {
      let (told, applied) = (try await fleet.toldNotifications(), try await fleet.appliedNotifications())
      if told == applied { row.appliedSeconds = elapsed() } else { try await EventLoop.sleep(for: .seconds(1)) }
    } while row.appliedSeconds == nil && ContinuousClock.now < deadline
    if row.appliedSeconds == nil { row.problems.append("not every notification was applied") }
    // Access may still end where a period has ended; then the truth stands still.
    repeat {
      row.note(try await comparison.differencesAtOneInstant())
    } while row.differenceCount > 0 && ContinuousClock.now < deadline
  }

  private var comparison: LifeComparison {
    readEvents()
    var comparison = LifeComparison(fleet, lives)
    comparison.owned = owned
    return comparison
  }

  private func readEvents() {
    for event in fleet.events.all[eventsRead...] {
      told.insert(event.synchronizationId)
      if event.result.isExactly("PURCHASE_SYNCHRONIZED"), let index = Self.index(of: event.synchronizationId) {
        owned.insert(index)
      }
    }
    eventsRead = fleet.events.all.count
  }

  /// The synchronization of a life's registration, and the life of a synchronization.
  static func synchronizationId(_ index: Int, _ number: Int) -> String { "r\(index)-\(number)" }
  private static func index(of synchronizationId: String) -> Int? {
    synchronizationId.split(separator: "-").first.flatMap { Int($0.dropFirst()) }
  }

  // MARK: Time

  var elapsed: Double { (ContinuousClock.now - start).inSeconds }

  /// Waits until a moment of the load, in seconds since its beginning.
  func reach(_ seconds: Double, since begin: ContinuousClock.Instant) async throws {
    let rest = begin + .seconds(seconds) - ContinuousClock.now
    if rest > .zero { try await EventLoop.sleep(for: rest) }
  }

  func say(_ text: String) { tell("\(Int(elapsed)) s: \(text)") }
}

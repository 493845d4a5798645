import Coordination
import Domain
import EventLoop
import Observability
import Redis
import TestSupport
import Testing

@testable import Service

/// What a process tells the fleet about itself, without Redis.
@LoopActor
struct FleetHeartTests {
  /// The other side of the beats.
  @LoopActor
  private final class Fleet {
    var beats: [FleetBeat] = []
    var left: [String] = []
    var isReady = true
    var failures = 0
    let change = LoopSignal()

    func tell(_ beat: FleetBeat) throws {
      beats.append(beat)
      change.notify()
      guard failures == 0 else {
        failures -= 1
        throw RedisError(.unreachable, operation: "beat", target: "Redis", cause: "away")
      }
    }
  }

  private let bench: ServiceBench
  private let fleet = Fleet()

  init() throws { bench = try ServiceBench() }

  private func heart(checks: [ReadinessCheck] = [], refusedApps: FleetHeart.RefusedApps? = nil) -> FleetHeart {
    FleetHeart(
      bench.context,
      FleetHeart.Fleet(
        isReady: { [fleet] in fleet.isReady }, tell: { [fleet] in try fleet.tell($0) },
        leave: { [fleet] in fleet.left.append($0) }),
      checks: checks, refusedApps: refusedApps)
  }

  private func beat() async throws -> FleetBeat {
    try await fleet.change.wait(for: "a beat") { !fleet.beats.isEmpty }
    return fleet.beats[0]
  }

  @Test func `the first beat comes with the start, and tells the troubles and the readings`() async throws {
    bench.context.metrics.gauge("countersign_jobs_in_flight", "Jobs.").set(3)
    bench.context.metrics.gauge("countersign_of_no_interest", "Nothing.").set(4)
    let heart = heart(checks: [
      ReadinessCheck("one", isReady: { true }), ReadinessCheck("two", isNeeded: false) { "is away" },
    ])
    let begin = ContinuousClock.now
    heart.start()
    heart.start()
    let told = try await beat()
    for _ in 0..<100 { await Task.yield() }
    #expect(fleet.beats.count == 1 || ContinuousClock.now - begin > FleetBeats.interval)
    #expect(told.role == "gateway" && told.version == "1.2.3" && told.troubles == ["degraded: two: is away"])
    #expect(told.startedAt <= bench.context.now() && told.place.contains(":") && told.id.utf8.count == 16)
    #expect(told.value("countersign_jobs_in_flight") == 3 && told.value("countersign_of_no_interest") == nil)
    let own = try [FleetHeart.cpu, FleetHeart.longestTurn, FleetHeart.droppedLines].map { name in
      try #require(told.value(name))
    }
    #expect(own.allSatisfy { $0 >= 0 })
    await heart.stop(within: .seconds(60))
    #expect(Set(fleet.beats.map(\.id)) == [told.id] && fleet.left == [told.id])
  }

  @Test func `a beat has what was set, and the apps whose key Apple refuses`() async throws {
    let app = FleetBeat.RefusedApp("com.one", of: 7, in: .production, since: 5, cause: "401")
    let heart = heart { [app] }
    heart.start()
    let told = try await beat()
    #expect(told.refusedApps == [app])
    #expect(told.settings == [FleetBeat.Setting("log.level", "error", fallback: "info")])
    await heart.stop(within: .seconds(60))
  }

  @Test func `a role without workers' knowledge tells no apps`() async throws {
    let heart = heart()
    heart.start()
    #expect(try await beat().refusedApps == nil)
    await heart.stop(within: .seconds(60))
  }

  @Test func `a close lets the process live, and a stop says farewell once`() async throws {
    let heart = heart()
    heart.start()
    let told = try await beat()
    heart.close()
    #expect(fleet.left.isEmpty)
    await heart.stop(within: .seconds(60))
    await heart.stop(within: .seconds(60))
    #expect(fleet.left == [told.id])
    // On a busy machine, a second beat may have come before the stop. None comes after it.
    let beats = fleet.beats.count
    heart.start()
    for _ in 0..<100 { await Task.yield() }
    #expect(fleet.beats.count == beats)
  }

  @Test func `a beat that does not get through harms nobody`() async throws {
    fleet.failures = 1
    let heart = heart()
    heart.start()
    let told = try await beat()
    await heart.stop(within: .seconds(60))
    #expect(fleet.left == [told.id])
  }

  @Test func `while Redis is away, nothing is told, and no farewell`() async throws {
    fleet.isReady = false
    let heart = heart()
    heart.start()
    for _ in 0..<100 { await Task.yield() }
    await heart.stop(within: .seconds(60))
    #expect(fleet.beats.isEmpty && fleet.left.isEmpty)
  }
}

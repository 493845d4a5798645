import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import ServerSupport
import Testing

@testable import Chaos

/// A small version of every scenario of `ops/chaos`, with other random moments each time.
@Suite(
  .breakingServers,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ChaosTests {
  /// `COUNTERSIGN_TEST_ROWS=2/3` runs the second of three shares of the rows, beside the others on other servers.
  private nonisolated static var names: [String] {
    let share = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_ROWS"]
    let numbers = share?.split(separator: "/").compactMap { Int($0) } ?? []
    guard numbers.count == 2, numbers[0] > 0, numbers[1] >= numbers[0] else { return Scenario.present.map(\.name) }
    return Scenario.present.map(\.name).enumerated()
      .filter { $0.offset % numbers[1] == numbers[0] - 1 }.map(\.element)
  }

  @Test(arguments: names)
  func `every promise holds`(scenario name: String) async throws {
    let scenario = try #require(Scenario.all.first { $0.name == name })
    let seed = UInt64.random(in: 1...999_999)
    let start = ContinuousClock.now
    let row = await Row(scenario, .quick, seed: seed)
    OwnTime.tell("row \(name)", since: start)
    #expect(row.holds, "repeat with ops/chaos --quick --seed \(seed) \(name): \(row.problems)")
  }
}

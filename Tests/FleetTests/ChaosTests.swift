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
  /// The rows of this process: every second one when two processes share them, each with its own servers
  /// (`ops/test` sets `COUNTERSIGN_TEST_FAULTS` to 1 or 2).
  private nonisolated static let rows = Scenario.present.map(\.name).enumerated()
    .filter { row in
      ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_FAULTS"].map { Int($0) == row.offset % 2 + 1 } ?? true
    }.map(\.element)

  @Test(arguments: rows)
  func `every promise holds`(scenario name: String) async throws {
    let scenario = try #require(Scenario.all.first { $0.name == name })
    let seed = UInt64.random(in: 1...999_999)
    let row = await Row(scenario, .quick, seed: seed)
    #expect(row.holds, "repeat with ops/chaos --quick --seed \(seed) \(name): \(row.problems)")
  }
}

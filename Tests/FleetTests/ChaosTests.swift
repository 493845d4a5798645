import EventLoop
import Fleets
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
  @Test(arguments: Scenario.present.map(\.name))
  func `every promise holds`(scenario name: String) async throws {
    let scenario = try #require(Scenario.all.first { $0.name == name })
    let seed = UInt64.random(in: 1...999_999)
    let row = await Row(scenario, .quick, seed: seed)
    #expect(row.holds, "repeat with ops/chaos --quick --seed \(seed) \(name): \(row.problems)")
  }
}

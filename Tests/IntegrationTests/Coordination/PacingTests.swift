import Coordination
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// The generic cell rate algorithm, which runs in Redis: one attempt costs 10, and there is room for 30.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PacingTests {
  /// Returns the two results of `pace`: the time until which the rate is used up, and the wait.
  private func pace(used: String?, now: Int, count: Int) async throws -> [Int64] {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("ready") { redis.isReady }
    let script = RedisScript(
      "pace", functions: [.pace], arguments: ["used", "now", "count"],
      """
      return {pace(used ~= 'none' and used, tonumber(now), 10, 30, count)}
      """)
    let reply = try await redis.run(
      script, arguments: ["used": used ?? "none", "now": String(now), "count": String(count)])
    await redis.stop()
    return (reply.array ?? []).compactMap(\.integer)
  }

  @Test func `what was never used has all its room`() async throws {
    #expect(try await pace(used: nil, now: 1000, count: 1) == [1010, -20])
    #expect(try await pace(used: "400", now: 1000, count: 3) == [1030, 0])
  }

  @Test func `what is used up waits for exactly as much as is missing`() async throws {
    #expect(try await pace(used: "1020", now: 1000, count: 1) == [1030, 0])
    #expect(try await pace(used: "1025", now: 1000, count: 1) == [1035, 5])
    #expect(try await pace(used: "1030", now: 1000, count: 2) == [1050, 20])
  }

  @Test func `a clock that went back makes nobody wait for longer than one room`() async throws {
    #expect(try await pace(used: "9000", now: 1000, count: 1) == [1040, 10])
  }
}

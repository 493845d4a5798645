import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import Testing

/// The turns of a publisher's jobs that wait for an app whose key Apple refuses, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct TurnTests {
  private static let interval = Duration.seconds(1) / JobRetryPolicy.waitingRunsPerSecond

  private func last(_ test: CoordinationOnRedis) async throws -> Int64 {
    try #require(try await test.redis.send(["GET", test.prefix + "turns:1"]).string.flatMap { Int64($0) })
  }

  @Test func `however many wait, their turns come one after the other, and each publisher has its own`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      #expect(try await test.turns.take(of: 1) == Self.interval)
      // A line of a minute: on a busy machine a shorter one might end, and its key with it, before the next look.
      let time = try #require(try await test.redis.send(["TIME"]).array?.first?.integer)
      let first = (time + 60) * 1_000_000
      _ = try await test.redis.send(["SET", test.prefix + "turns:1", "\(first)"])
      var waits: [Duration] = []
      for _ in 0..<300 { waits.append(try await test.turns.take(of: 1)) }
      #expect(try await last(test) - first >= 300 * Int64(Self.interval / .microseconds(1)))
      #expect(waits.allSatisfy { $0 >= Self.interval })
      #expect(try await test.turns.take(of: 2) == Self.interval)
      // Nothing stays behind the last turn.
      let rest = try await test.redis.send(["PTTL", test.prefix + "turns:1"]).integer ?? -1
      #expect(rest > 0 && .milliseconds(rest) <= Self.interval * 301 + .seconds(61))
    }
  }

  @Test func `after a wipe the line begins anew, and nobody waits for more than a day`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      for _ in 0..<50 { _ = try await test.turns.take(of: 1) }
      try await test.wipe()
      #expect(try await test.turns.take(of: 1) == Self.interval)
      _ = try await test.redis.send(["SET", test.prefix + "turns:1", "99999999999999999"])
      #expect(try await test.turns.take(of: 1) == .seconds(86_400))
      let rest = try await test.redis.send(["PTTL", test.prefix + "turns:1"]).integer ?? -1
      #expect(rest > 0 && rest <= 86_400_000 + Int64(Self.interval / .milliseconds(1)))
    }
  }
}

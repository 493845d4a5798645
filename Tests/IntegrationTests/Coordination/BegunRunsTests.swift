import Coordination
import EventLoop
import Fleets
import Redis
import ServerSupport
import Testing

/// The counts of runs that never ended, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct BegunRunsTests {
  @Test func `a run counts from its begin to its end`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let begun = BegunRuns(test.redis, prefix: test.prefix)
      #expect(try await begun.counts(["a", "b"]) == [0, 0])
      try await begun.begin(["a"])
      // The process of the first run died.
      try await begun.begin(["a", "b"])
      #expect(try await begun.counts(["b", "a"]) == [1, 2])
      try await begun.end(["a"])
      #expect(try await begun.counts(["a", "b"]) == [0, 1])
      let rest = try await test.redis.send(["PTTL", test.prefix + "begun:b"]).integer ?? 0
      #expect(rest > 86_000_000 && rest <= 86_400_000)
      // Nothing to ask needs no trip.
      #expect(try await begun.counts([]) == [])
      try await begun.begin([])
      try await begun.end([])
    }
  }

  @Test func `a look at a count does not keep it`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let begun = BegunRuns(test.redis, prefix: test.prefix)
      for known in 0..<6 {
        #expect(try await begun.counts(["row"]) == [known])
        try await begun.begin(["row"])
      }
      let key = test.prefix + "begun:row"
      _ = try await test.redis.send(["PEXPIRE", key, "50000"])
      #expect(try await begun.counts(["row"]) == [6])
      let rest = try await test.redis.send(["PTTL", key]).integer ?? 0
      #expect(rest > 0 && rest <= 50_000)
    }
  }

  @Test func `what somebody else has written there counts as nothing`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let begun = BegunRuns(test.redis, prefix: test.prefix)
      for (name, text) in [("text", "x"), ("negative", "-3"), ("huge", "99999999999999999999")] {
        _ = try await test.redis.send(["SET", test.prefix + "begun:" + name, text])
      }
      #expect(try await begun.counts(["text", "negative", "huge"]) == [0, 0, 0])
      try await begun.begin(["negative"])
      #expect(try await begun.counts(["negative"]) == [1])
    }
  }
}

import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
import Testing

/// Which processes there are, and what is left of Apple's budgets, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct FleetBeatsTests {
  private func beat(_ id: String, startedAt: Int64 = 1) -> FleetBeat {
    FleetBeat(
      id: id, role: "worker", version: "1", place: "host:\(id)", startedAt: startedAt,
      readings: [FleetBeat.Reading("cpu", [], 0.5)])
  }

  @Test func `a process is there from its first beat until it leaves`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let beats = FleetBeats(test.redis, prefix: test.prefix)
      #expect(try await beats.all() == [])
      try await beats.tell(beat("a"))
      try await beats.tell(beat("b"))
      try await beats.tell(beat("a", startedAt: 2))
      let found = try await beats.all().sorted { $0.id < $1.id }
      #expect(found.map(\.id) == ["a", "b"] && found.map(\.startedAt) == [2, 1])
      #expect(found.allSatisfy { $0.silence < 20_000 && $0.heardAt > 1_700_000_000_000 && $0.value("cpu") == 0.5 })
      try await beats.leave("a")
      #expect(try await beats.all().map(\.id) == ["b"])
      // It leaves nothing behind for longer than a process is remembered.
      for key in try await test.keys() {
        let rest = try await test.redis.send(["PTTL", key]).integer ?? 0
        #expect(rest > 0 && rest <= FleetBeats.memory.wholeMilliseconds, "\(key)")
      }
    }
  }

  @Test func `a process that was silent for long is forgotten with the next beat`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let beats = FleetBeats(test.redis, prefix: test.prefix)
      try await beats.tell(beat("old"))
      let past = try await test.redis.time() - Int64(FleetBeats.memory.wholeMilliseconds) - 1
      _ = try await test.redis.send(["ZADD", test.prefix + "fleet", "\(past)", "old"])
      let silent = try await beats.all()
      #expect(silent.map(\.id) == ["old"] && silent[0].silence > FleetBeats.memory.wholeMilliseconds)
      try await beats.tell(beat("new"))
      #expect(try await beats.all().map(\.id) == ["new"])
      // A record that this version cannot read is left out.
      _ = try await test.redis.send(["SET", test.prefix + "fleet:new", "{}"])
      #expect(try await beats.all() == [])
    }
  }

  @Test func `a person sees how much is left of a budget, and until when Apple forbids calls`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let place = CallPlace(
        bundleId: "com.example", environment: .production,
        budgets: [CallBudget(endpoint: "one", perSecond: 0.01), CallBudget(endpoint: "two", perSecond: 0.02)])
      let unused = try await test.budgets.states(of: [place])
      #expect(unused.map(\.left) == [1, 1] && unused.allSatisfy { !$0.isInUse })
      guard case .granted = try await test.budgets.takeCall(place, only: "one") else {
        Issue.record("no call was granted")
        return
      }
      try await test.budgets.pause(place, "two", for: .seconds(600))
      let used = try await test.budgets.states(of: [place])
      #expect(used[0].left < 1 && used[0].pausedUntil == nil && used[0].isInUse)
      let now = try await test.redis.time()
      let until = try #require(used[1].pausedUntil)
      #expect(until > now && until <= now + 600_000)
      // Reading takes nothing.
      #expect(try await test.budgets.states(of: [place])[1].left == 1)
      #expect(try await test.budgets.states(of: []) == [])
    }
  }
}

import Coordination
import EventLoop
import Fleets
import Redis
import ServerSupport
import Testing

/// The sessions of the console, in a real Redis.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ConsoleSessionTests {
  @Test func `a session is kept, used and ended`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let sessions = ConsoleSessions(test.redis, prefix: test.prefix)
      var session = ConsoleSession(name: "ada", lineSHA256: "aa", startedAt: 1000, usedAt: 1000)
      #expect(try await sessions.session("t") == nil)
      try await sessions.begin(
        session, "t", of: "ada", for: .seconds(60), longest: .seconds(900), atMost: 10)
      #expect(try await sessions.session("t") == session)
      session.usedAt = 2000
      try await sessions.use(session, "t", for: .seconds(30))
      #expect(try await sessions.session("t") == session)
      let rest = try await test.redis.send(["PTTL", test.prefix + "console:session:t"]).integer ?? 0
      #expect(rest > 0 && rest <= 30_000)
      try await sessions.end("t")
      // A page that was under way does not bring it back.
      try await sessions.use(session, "t", for: .seconds(30))
      #expect(try await sessions.session("t") == nil)
    }
  }

  @Test func `one session more ends the oldest that lasts`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let sessions = ConsoleSessions(test.redis, prefix: test.prefix)
      let session = ConsoleSession(name: "ada", lineSHA256: "aa", startedAt: 1000, usedAt: 1000)
      func begin(_ token: String, of person: String = "ada") async throws {
        try await sessions.begin(
          session, token, of: person, for: .seconds(60), longest: .seconds(900), atMost: 3)
      }
      func live() async throws -> [String] {
        var live: [String] = []
        for token in ["a", "b", "c", "d", "e", "other"] where try await sessions.session(token) != nil {
          live.append(token)
        }
        return live
      }
      try await begin("other", of: "bob")
      for token in ["a", "b", "c"] { try await begin(token) }
      // An ended one takes no place.
      try await sessions.end("b")
      try await begin("d")
      #expect(try await live() == ["a", "c", "d", "other"])
      try await begin("e")
      #expect(try await live() == ["c", "d", "e", "other"])
      let list = test.prefix + "console:sessions:ada"
      #expect(try await test.redis.send(["LLEN", list]).integer == 3)
      let rest = try await test.redis.send(["PTTL", list]).integer ?? 0
      #expect(rest > 800_000 && rest <= 900_000)
    }
  }

  @Test func `things are counted for a while`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let sessions = ConsoleSessions(test.redis, prefix: test.prefix)
      var counts: [Int64] = []
      for what in ["a", "a", "b"] { counts.append(try await sessions.count(what, within: .seconds(900))) }
      #expect(counts == [1, 2, 1])
      let rest = try await test.redis.send(["PTTL", test.prefix + "console:attempts:a"]).integer ?? 0
      #expect(rest > 800_000 && rest <= 900_000)
    }
  }

  @Test(arguments: ["", "x", "1 2 aa", "x 2 aa ada", "-1 2 aa ada"])
  func `what somebody else has written there is no session`(record: String) async throws {
    try await CoordinationOnRedis.with { test async throws in
      _ = try await test.redis.send(["SET", test.prefix + "console:session:t", record])
      #expect(try await ConsoleSessions(test.redis, prefix: test.prefix).session("t") == nil)
    }
  }

  @Test func `attempts are counted by person and by address`() async throws {
    try await CoordinationOnRedis.with { test async throws in
      let sessions = ConsoleSessions(test.redis, prefix: test.prefix)
      var counts: [Int64] = []
      for person in ["a", "a", "b"] {
        let found = try await sessions.attempt(person, "address", atMost: 5, within: .seconds(900))
        counts += [found.person, found.address]
      }
      #expect(counts == [1, 1, 2, 2, 1, 3])
      let rest = try await test.redis.send(["PTTL", test.prefix + "console:attempts:a"]).integer ?? 0
      #expect(rest > 800_000 && rest <= 900_000)
      try await sessions.forgetAttempts("a")
      let again = try await sessions.attempt("a", "address", atMost: 5, within: .seconds(900))
      #expect(again.person == 1 && again.address == 4)
      // Made-up names cost Redis nothing more.
      for person in ["c", "d", "e"] {
        _ = try await sessions.attempt(person, "address", atMost: 5, within: .seconds(900))
      }
      let kept = try await test.redis.send(
        ["EXISTS"] + ["c", "d", "e"].map { test.prefix + "console:attempts:" + $0 })
      #expect(kept.integer == 1)
    }
  }
}

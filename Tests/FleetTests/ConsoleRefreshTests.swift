import EventLoop
import Fleets
import HTTP
import Redis
import ServerSupport
import TestSupport
import Testing

/// The console's script at a running console, as far as a browser is not needed (`ops/development/browser`).
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ConsoleRefreshTests {
  /// A page that nobody looks at any more refreshes itself, and its session ends all the same.
  @Test func `the script reads again what is open, and keeps no session`() async throws {
    let console = ConsoleTests()
    try await console.withConsole(["COUNTERSIGN_CONSOLE_IDLE_TIMEOUT_SECONDS": "60"]) { fleet in
      let ada = try await console.signIn(fleet, "ada")
      func read(_ path: String) async throws -> HTTPClientResponse {
        let headers = [(name: "Cookie", value: ada.cookie), (name: "X-Countersign-Refresh", value: "1")]
        return try await fleet.send("GET", fleet.url(path, gateway: "console-1"), headers)
      }
      let page = try await read("/customers/1001/7")
      #expect(page.header("content-security-policy")?.contains("script-src 'self'; connect-src 'self'") == true)
      #expect(String(decoding: page.body, as: UTF8.self).contains("<script src=\"/refresh.js\" defer></script>"))
      #expect(try await read("/audit").header("content-security-policy")?.contains("script") == false)
      let script = try await fleet.send("GET", fleet.url("/refresh.js", gateway: "console-1"), [])
      #expect(script.status == 200 && script.header("content-type") == "text/javascript; charset=utf-8")
      // A use is noted every ten seconds at most, and would let the session last a minute more.
      try await fleet.shortenSessions(to: .seconds(15))
      try await eventually("the session ends without a use", every: .milliseconds(200)) {
        try await read("/").status == 303
      }
    }
  }
}

extension RunningFleet {
  /// Lets each session of the console end after a time, if nobody uses it.
  fileprivate func shortenSessions(to time: Duration) async throws {
    let script = """
      local found = redis.call('KEYS', ARGV[1])
      for _, key in ipairs(found) do redis.call('PEXPIRE', key, ARGV[2]) end
      return #found
      """
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("Redis is there") { redis.isReady }
    let milliseconds = String(Int(time / .milliseconds(1)))
    #expect(
      try await redis.send(["EVAL", script, "0", "\(prefix):console:session:*", milliseconds]) == .integer(1))
    await redis.stop()
  }
}

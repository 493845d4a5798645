import EventLoop
import Observability
import Redis
import TestSupport
import Testing

@testable import Service

/// The watch of which keys Redis would delete, without Redis.
@LoopActor
struct RedisPolicyWatchTests {
  /// Redis, which answers with a policy or not at all.
  @LoopActor
  private final class Answers {
    var policy: String?
    var asked = 0
    let change = LoopSignal()

    func ask() throws -> String? {
      asked += 1
      change.notify()
      guard let policy else {
        throw RedisError(.reply, operation: "INFO", target: "Redis", cause: "NOPERM no permission")
      }
      return "maxmemory_policy:\(policy)\r\n"
    }
  }

  private let bench: ServiceBench
  private let answers = Answers()
  private let connections = Followers<Void>()

  init() throws { bench = try ServiceBench() }

  @Test func `each connection lets it ask, from the start to the stop`() async throws {
    let watch = RedisPolicyWatch(bench.context, after: connections) { [answers] in try answers.ask() }
    answers.policy = "allkeys-lru"
    connections.tell(())
    watch.start()
    for _ in 0..<100 { await Task.yield() }
    #expect(answers.asked == 0)
    for (policy, evicts) in [("allkeys-lru", 1), ("noeviction", 0), (nil, 0)] {
      answers.policy = policy
      // On a busy machine, it may have looked by itself, too.
      let asked = answers.asked
      connections.tell(())
      try await answers.change.wait(for: "a question after \(asked)") { answers.asked > asked }
      for _ in 0..<10 { await Task.yield() }
      #expect(bench.counts("countersign_redis_evicts \(evicts)"))
    }
    await watch.stop(within: .zero)
    let asked = answers.asked
    connections.tell(())
    for _ in 0..<100 { await Task.yield() }
    #expect(answers.asked == asked)
  }
}

import EventLoop
import Observability
import Redis
import TestSupport
import Testing

@testable import Service

/// The watch of which keys Redis would delete, without Redis.
@LoopActor
struct RedisPolicyWatchTests {
  /// The answers of Redis, the next one first; without one it does not answer.
  @LoopActor
  private final class Answers {
    var next: [String?] = []
    var asked = 0
    let change = LoopSignal()

    func ask() throws -> String? {
      asked += 1
      change.notify()
      guard !next.isEmpty else {
        throw RedisError(.reply, operation: "INFO", target: "Redis", cause: "NOPERM no permission")
      }
      return next.removeFirst()
    }
  }

  private let bench: ServiceBench
  private let answers = Answers()
  private let connections = Followers<Void>()

  init() throws { bench = try ServiceBench() }

  @Test func `each connection lets it ask, from the start to the stop`() async throws {
    let watch = RedisPolicyWatch(bench.context, after: connections) { [answers] in try answers.ask() }
    answers.next = ["maxmemory_policy:allkeys-lru\r\n", "maxmemory_policy:noeviction\r\n"]
    connections.tell(())
    watch.start()
    for _ in 0..<100 { await Task.yield() }
    #expect(answers.asked == 0)
    for (asked, evicts) in [(1, 1), (2, 0), (3, 0)] {
      connections.tell(())
      try await answers.change.wait(for: "question \(asked)") { answers.asked == asked }
      for _ in 0..<10 { await Task.yield() }
      #expect(bench.counts("countersign_redis_evicts \(evicts)"))
    }
    await watch.stop(within: .zero)
    connections.tell(())
    for _ in 0..<100 { await Task.yield() }
    #expect(answers.asked == 3)
  }
}

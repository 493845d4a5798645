import EventLoop
import Redis
import TestSupport
import Testing

@testable import Service

/// The chore that sets a role's clock by Redis', without Redis.
@LoopActor
struct ClockChoreTests {
  /// The clock of Redis.
  @LoopActor
  private final class Clock {
    /// How far it is ahead, in milliseconds; `nil` while nobody answers.
    var ahead: Int64?
    var asked = 0
    let change = LoopSignal()

    func time() throws -> Int64 {
      asked += 1
      change.notify()
      guard let ahead else { throw RedisError(.unreachable, operation: "TIME", target: "Redis", cause: "away") }
      return unixMilliseconds() + ahead
    }
  }

  private let bench: ServiceBench
  private let redis = Clock()
  private static let hour: Int64 = 3_600_000

  init() throws { bench = try ServiceBench() }

  /// How far the role's clock is ahead, in hours.
  private var ahead: Double { (Double(bench.context.now() - unixMilliseconds()) / Double(Self.hour)).rounded() }

  private func chore() -> Chore { bench.context.clockChore { [redis] in try redis.time() } }

  private func asked(_ count: Int) async throws {
    try await redis.change.wait(for: "look \(count) at Redis' clock") { redis.asked >= count }
    // The chore learns the time in the turn behind the answer.
    for _ in 0..<10 { await Task.yield() }
  }

  @Test func `the first look comes with the start, and sets the clock in both directions`() async throws {
    redis.ahead = Self.hour
    let chore = chore()
    #expect(ahead == 0)
    chore.start()
    try await asked(1)
    #expect(ahead == 1)
    redis.ahead = -2 * Self.hour
    chore.lookNow()
    try await asked(2)
    #expect(ahead == -2)
    await chore.stop(within: .zero)
    chore.lookNow()
    for _ in 0..<100 { await Task.yield() }
    #expect(redis.asked == 2 && ahead == -2)
  }

  @Test func `without an answer, the last correction counts`() async throws {
    redis.ahead = Self.hour
    let chore = chore()
    chore.start()
    try await asked(1)
    redis.ahead = nil
    chore.lookNow()
    try await asked(2)
    #expect(ahead == 1)
    await chore.stop(within: .zero)
  }
}

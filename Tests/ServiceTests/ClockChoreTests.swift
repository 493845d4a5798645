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

  /// Waits until the role's clock is so many hours ahead. The chore learns the time in the turn behind the answer.
  private func untilAhead(_ hours: Double) async throws {
    try await eventually("the clock is \(hours) hours ahead") { ahead == hours }
  }

  // A busy machine may be so late that the chore looks by itself, too: no test counts on a number of looks.

  @Test func `the first look comes with the start, and sets the clock in both directions`() async throws {
    redis.ahead = Self.hour
    let chore = chore()
    #expect(ahead == 0)
    chore.start()
    try await untilAhead(1)
    redis.ahead = -2 * Self.hour
    chore.lookNow()
    try await untilAhead(-2)
    await chore.stop(within: .zero)
    // A look that the stop has cancelled may still ask.
    for _ in 0..<100 { await Task.yield() }
    let asked = redis.asked
    redis.ahead = Self.hour
    chore.lookNow()
    for _ in 0..<100 { await Task.yield() }
    #expect(redis.asked == asked && ahead == -2)
  }

  @Test func `without an answer, the last correction counts`() async throws {
    redis.ahead = Self.hour
    let chore = chore()
    chore.start()
    try await untilAhead(1)
    redis.ahead = nil
    let asked = redis.asked
    chore.lookNow()
    try await redis.change.wait(for: "a look at Redis' clock") { redis.asked > asked }
    for _ in 0..<100 { await Task.yield() }
    #expect(ahead == 1)
    await chore.stop(within: .zero)
  }
}

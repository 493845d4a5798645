import Redis

/// How much of a budget is left now.
public struct CallBudgetState: Sendable, Equatable {
  public let place: CallPlace
  public let budget: CallBudget
  /// Calls that may be made at once, from 0 to those of one second, or to 1 where that is more.
  public let left: Double
  /// Until when Apple's `Retry-After` forbids calls, in milliseconds since 1970; `nil` if it does not.
  public let pausedUntil: Int64?

  /// Whether somebody has used the budget a moment ago, or may not use it.
  public var isInUse: Bool { pausedUntil != nil || left < max(1, budget.perSecond) }

  /// - Parameters:
  ///   - used: until when the budget is used up, in microseconds of Redis' clock.
  ///   - pause: until when Apple forbids calls, in microseconds.
  ///   - now: Redis' clock in microseconds.
  init(_ place: CallPlace, _ budget: CallBudget, used: Double?, pause: Double?, now: Double) {
    (self.place, self.budget) = (place, budget)
    let interval = 1_000_000 / budget.perSecond
    let room = max(1_000_000, interval)
    // Redis keeps texts: one that is not a number of our own must not end the process.
    let ahead = min(room, max(0, (used ?? 0) - now))
    left = (room - (ahead.isFinite ? ahead : room)) / interval
    let end = (pause ?? 0) / 1000
    pausedUntil = end.isFinite && end * 1000 > now && end < 1e15 ? Int64(end) : nil
  }
}

extension CallBudgets {
  /// Reads how much is left of the budgets of some places, in their order. It takes nothing out of them.
  public func states(of places: [CallPlace]) async throws -> [CallBudgetState] {
    let budgets = places.flatMap { place in place.budgets.map { (place, $0) } }
    guard !budgets.isEmpty else { return [] }
    let names = budgets.map { place, budget in "\(place.name)|\(budget.endpoint)" }
    let time = Double(try await redis.time()) * 1000
    let reply = try await redis.send(["HMGET", keys.budgets] + names.flatMap { [$0, "pause:\($0)"] })
    guard let values = reply.array, values.count == 2 * budgets.count else {
      throw RedisError.unexpected(reply, "read budgets")
    }
    func number(_ place: Int) -> Double? { values[place].string.flatMap { Double($0) } }
    return budgets.enumerated().map { index, budget in
      CallBudgetState(budget.0, budget.1, used: number(2 * index), pause: number(2 * index + 1), now: time)
    }
  }
}

import EventLoop
import Purchases
import Redis

/// Names the budget of one Apple endpoint for one app in one environment, which the whole fleet shares.
public struct BudgetName: Sendable, Hashable, CustomStringConvertible {
  public let bundleId: String
  public let environment: String
  public let endpoint: String

  /// Creates a name.
  public init(bundleId: String, environment: String, endpoint: String) {
    self.bundleId = bundleId
    self.environment = environment
    self.endpoint = endpoint
  }

  public var description: String { "\(bundleId):\(environment):\(endpoint)" }
}

extension PurchaseStore {
  /// Takes one call out of a budget.
  ///
  /// - Returns: zero when the call may be made now, else how long to wait before asking again.
  public func takeCall(_ budget: BudgetName, perSecond: Int) async throws -> Duration {
    let milliseconds =
      try await redis.run(
        .takeCall, keys: [keys.pause(budget.description), keys.budget(budget.description)],
        arguments: [String(perSecond)]
      ).integer ?? 0
    return .milliseconds(milliseconds)
  }

  /// Stops every worker's calls on a budget, because Apple said so in `Retry-After`; never shortens a pause.
  public func pause(_ budget: BudgetName, for duration: Duration) async throws {
    _ = try await redis.run(
      .pause, keys: [keys.pause(budget.description)], arguments: [String(max(1, duration.wholeMilliseconds))])
  }
}

extension RedisScript {
  /// A bucket of one second's calls, kept as the time at which it would be empty (generic cell rate algorithm).
  fileprivate static let takeCall = RedisScript(
    "take call",
    """
    local pause = redis.call('PTTL', KEYS[1])
    if pause > 0 then return pause end
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    local interval = 1000000 / tonumber(ARGV[1])
    local empty = math.max(tonumber(redis.call('GET', KEYS[2]) or 0), now)
    local wait = empty + interval - now - 1000000
    if wait > 0 then return math.ceil(wait / 1000) end
    redis.call('SET', KEYS[2], string.format('%.0f', empty + interval), 'PX', 2000)
    return 0
    """)

  fileprivate static let pause = RedisScript(
    "pause",
    """
    if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
    return 1
    """)
}

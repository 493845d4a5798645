public import EventLoop
public import Redis

/// The calls that the whole fleet may make to Apple, in Redis: a budget for each app, environment and endpoint.
///
/// Every method throws `RedisError`. After an error the script may have run or not. Every script may run again.
@LoopActor
public final class CallBudgets {
  private let redis: RedisClient
  private let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Takes one call out of the first budget that has one left.
  ///
  /// - Parameter endpoint: the only endpoint that will do; `nil` takes any endpoint of the place.
  public func takeCall(_ place: CallPlace, only endpoint: String? = nil) async throws -> CallAnswer {
    let budgets = place.budgets.filter { endpoint == nil || $0.endpoint == endpoint }
    let reply =
      try await redis.run(
        .takeCall, keys: ["budgetsKey": keys.budgets], arguments: ["place": place.name],
        moreArguments: budgets.flatMap { [$0.endpoint, $0.rate] }
      ).array ?? []
    if let endpoint = reply.first?.string, !endpoint.isEmpty {
      return .granted(CallGrant(place: place.name, endpoint: endpoint))
    }
    guard let wait = reply.last?.wait() else { throw RedisError.unexpected(reply, "take call") }
    return .wait(wait)
  }

  /// Stops every worker's calls to an endpoint, because Apple's `Retry-After` asks for it. It never shortens a pause.
  public func pause(_ place: CallPlace, _ endpoint: String, for duration: Duration) async throws {
    _ = try await redis.run(
      .pause, keys: ["budgetsKey": keys.budgets],
      arguments: [
        "field": "pause:\(place.name)|\(endpoint)", "duration": String(max(1, duration.wholeMilliseconds)),
      ])
  }
}

extension RedisScript {
  fileprivate static let takeCall = RedisScript(
    "take call", functions: [.clock, .pace, .grant], keys: ["budgetsKey"], arguments: ["place"],
    moreArguments: "firstBudget",
    """
    local _, now = clock()
    local budgets = {}
    for index = firstBudget, #ARGV, 2 do budgets[#budgets + 1] = {ARGV[index], ARGV[index + 1]} end
    return {grant(budgetsKey, place, budgets, now)}
    """)

  fileprivate static let pause = RedisScript(
    "pause", functions: [.clock], keys: ["budgetsKey"], arguments: ["field", "duration"],
    """
    local _, now = clock()
    local untilWhen = now + duration * 1000
    if tonumber(redis.call('HGET', budgetsKey, field) or 0) < untilWhen then
      redis.call('HSET', budgetsKey, field, string.format('%.0f', untilWhen))
    end
    return 1
    """)
}

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
    return try CallAnswer(
      await redis.run(
        .takeCall, keys: ["budgetsKey": keys.budgets], arguments: ["place": place.name],
        moreArguments: budgets.flatMap { [$0.endpoint, $0.rate] }), at: place, "take call")
  }

  /// Takes a call that nobody waits for out of an endpoint's budget.
  ///
  /// It gets what is left: a call as long as half of a second's calls stay, while no job waits in the line. A tenth of
  /// the budget is for such calls, whoever waits (decision 0039).
  public func takeCallLater(_ place: CallPlace, only endpoint: String) async throws -> CallAnswer {
    let budgets = place.budgets.filter { $0.endpoint.utf8.elementsEqual(endpoint.utf8) }
    let line = keys.line(place.name)
    return try CallAnswer(
      await redis.run(
        .takeCallLater, keys: ["budgetsKey": keys.budgets, "lineKey": line, "endpointLineKey": "\(line)|\(endpoint)"],
        arguments: ["place": place.name], moreArguments: budgets.flatMap { [$0.endpoint, $0.rate] }),
      at: place, "take call later")
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

extension CallAnswer {
  fileprivate init(_ value: RESPValue, at place: CallPlace, _ script: String) throws {
    let reply = value.array ?? []
    if let endpoint = reply.first?.string, !endpoint.isEmpty {
      self = .granted(CallGrant(place: place.name, endpoint: endpoint))
    } else if let wait = reply.last?.wait() {
      self = .wait(wait)
    } else {
      throw RedisError.unexpected(reply, script)
    }
  }
}

extension RedisScript {
  fileprivate static let takeCallLater = RedisScript(
    "take call later", functions: [.clock, .pace, .grantLater], keys: ["budgetsKey", "lineKey", "endpointLineKey"],
    arguments: ["place"], moreArguments: "firstBudget",
    """
    local _, now = clock()
    local budgets = {}
    for index = firstBudget, #ARGV, 2 do budgets[#budgets + 1] = {ARGV[index], ARGV[index + 1]} end
    local isAwaited = redis.call('EXISTS', lineKey, endpointLineKey) > 0
    return {grantLater(budgetsKey, place, budgets, now, isAwaited)}
    """)

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

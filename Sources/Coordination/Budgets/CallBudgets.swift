import Domain
public import EventLoop
public import Redis

/// The calls that the whole fleet may make to Apple, in Redis: a budget for each app, environment and endpoint.
///
/// Every method throws `RedisError`. After an error the script may have run or not. Every script may run again.
@LoopActor
public final class CallBudgets {
  let redis: RedisClient
  let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Takes one call out of the first budget that has one left.
  ///
  /// A call that nobody waits for gets what is left: a call as long as half of a second's calls stay, while no job
  /// waits in the line. A tenth of the budget is for such calls, whoever waits (decision 0039). Calls in bulk get what
  /// these leave.
  ///
  /// - Parameter endpoint: the only endpoint that will do; `nil` takes any endpoint of the place.
  public func takeCall(
    _ place: CallPlace, only endpoint: String? = nil, _ urgency: CallUrgency = .awaited
  ) async throws -> CallAnswer {
    let budgets = place.budgets.filter { budget in
      endpoint.map { $0.utf8.elementsEqual(budget.endpoint.utf8) } ?? true
    }
    return try CallAnswer(
      await redis.run(
        .takeCall, keys: ["budgetsKey": keys.budgets],
        arguments: ["prefix": keys.prefix, "place": place.name.text, "urgency": urgency.rawValue],
        moreArguments: budgets.flatMap { [$0.endpoint, $0.rate] }), at: place, "take call")
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
      self = .granted(CallPermit(place: place.name, endpoint: endpoint))
    } else if let wait = reply.last?.wait() {
      self = .wait(wait)
    } else {
      throw RedisError.unexpected(reply, script)
    }
  }
}

extension RedisScript {
  fileprivate static let takeCall = RedisScript(
    "take call", functions: [.clock, .pace, .grant, .grantLater, .grantInLane], keys: ["budgetsKey"],
    arguments: ["prefix", "place", "urgency"], moreArguments: "firstBudget",
    """
    local _, now = clock()
    local budgets = {}
    for index = firstBudget, #ARGV, 2 do budgets[#budgets + 1] = {ARGV[index], ARGV[index + 1]} end
    return {grantInLane(urgency, prefix, budgetsKey, place, budgets, now)}
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

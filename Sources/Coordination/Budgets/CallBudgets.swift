import EventLoop
import Redis

/// A place to ask Apple: one app in one environment, with the budget of each endpoint there.
public struct CallPlace: Sendable, Hashable {
  /// `bundleId|environment`.
  public let name: String
  /// The endpoints that can answer, the preferred one first.
  public let budgets: [CallBudget]

  /// Names a place.
  public init(bundleId: String, environment: String, budgets: [CallBudget]) {
    name = "\(bundleId)|\(environment)"
    self.budgets = budgets
  }
}

/// The calls that the whole fleet may make to one endpoint.
public struct CallBudget: Sendable, Hashable {
  /// The endpoint's name.
  public let endpoint: String
  /// Calls per second, in the form for a script.
  let rate: String

  /// Creates a budget. The rate may be less than one call per second, but not zero.
  public init(endpoint: String, perSecond: Double) {
    precondition(perSecond > 0)
    self.endpoint = endpoint
    rate = String(perSecond)
  }
}

/// A call that a script took out of its budget. The worker may make it at once.
public struct CallGrant: Sendable, Hashable {
  /// The name of the place.
  public let place: String
  public let endpoint: String

  /// Creates a grant.
  public init(place: String, endpoint: String) {
    self.place = place
    self.endpoint = endpoint
  }
}

/// The answer to a request for a call to Apple.
public enum CallAnswer: Sendable, Equatable {
  case granted(CallGrant)
  /// The worker may call no endpoint now. It may call one after this long.
  case wait(Duration)
}

extension PurchaseStore {
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
    guard let wait = reply.last?.wait() else { throw unexpected(reply, "take call") }
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

extension LuaFunction {
  /// Lua: `grant(key, place, budgets, now)` returns an endpoint, or an empty text and the milliseconds to wait.
  ///
  /// Each budget is an endpoint and its calls per second; `now` is in microseconds. The function needs ``pace``. A
  /// budget has room for the calls of one second, or for one call where that is more.
  static let grant = LuaFunction(
    """
    local function grant(key, place, budgets, now)
      local soonest
      for _, budget in ipairs(budgets) do
        local endpoint, rate = budget[1], budget[2]
        local name = place .. '|' .. endpoint
        local known = redis.call('HMGET', key, name, 'pause:' .. name)
        local interval = 1000000 / rate
        local used, wait = pace(known[1], now, interval, math.max(1000000, interval), 1)
        wait = math.max(wait, tonumber(known[2] or 0) - now)
        if wait <= 0 then
          redis.call('HSET', key, name, string.format('%.0f', used))
          return endpoint, 0
        end
        soonest = math.min(soonest or wait, wait)
      end
      return '', math.ceil((soonest or 1000000) / 1000)
    end
    """)
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

import EventLoop
import Redis

/// Where Apple is asked: one app in one environment, with the budget that each endpoint has there.
public struct CallPlace: Sendable, Hashable {
  /// `bundleId|environment`.
  public let name: String
  /// Calls that the whole fleet may make to each endpoint.
  public let perSecond: Int

  /// Names a place.
  public init(bundleId: String, environment: String, perSecond: Int) {
    name = "\(bundleId)|\(environment)"
    self.perSecond = perSecond
  }
}

/// A call that was taken out of its budget, so that it may be made at once.
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

/// What became of the wish to call Apple.
public enum CallAnswer: Sendable, Equatable {
  case granted(CallGrant)
  /// No endpoint may be called now; one may after this long.
  case wait(Duration)
}

extension PurchaseStore {
  /// Takes one call out of the first budget that has one left.
  ///
  /// - Parameter endpoints: those that can answer, the preferred one first.
  public func takeCall(_ place: CallPlace, _ endpoints: [String]) async throws -> CallAnswer {
    let reply =
      try await redis.run(
        .takeCall, keys: [keys.budgets], arguments: [place.name, String(place.perSecond)] + endpoints
      ).array ?? []
    if let endpoint = reply.first?.string, !endpoint.isEmpty {
      return .granted(CallGrant(place: place.name, endpoint: endpoint))
    }
    guard let wait = reply.last?.integer else { throw unexpected(reply, "take call") }
    return .wait(.milliseconds(max(1, wait)))
  }

  /// Stops every worker's calls to an endpoint, because Apple said so in `Retry-After`; never shortens a pause.
  public func pause(_ place: CallPlace, _ endpoint: String, for duration: Duration) async throws {
    _ = try await redis.run(
      .pause, keys: [keys.budgets],
      arguments: ["pause:\(place.name)|\(endpoint)", String(max(1, duration.wholeMilliseconds))])
  }
}

extension RedisScript {
  /// Lua: `grant(key, place, perSecond, endpoints, now)` returns an endpoint, or an empty text and the milliseconds to
  /// wait; `now` in microseconds. A bucket of one second's calls is kept as the time at which it would be empty
  /// (generic cell rate algorithm).
  static let grantFunction = """
    local function grant(key, place, rate, endpoints, now)
      local soonest
      for _, endpoint in ipairs(endpoints) do
        local name = place .. '|' .. endpoint
        local known = redis.call('HMGET', key, name, 'pause:' .. name)
        local interval = 1000000 / tonumber(rate)
        local empty = math.max(tonumber(known[1] or 0), now)
        local wait = math.max(tonumber(known[2] or 0) - now, empty + interval - now - 1000000)
        if wait <= 0 then
          redis.call('HSET', key, name, string.format('%.0f', empty + interval))
          return endpoint, 0
        end
        soonest = math.min(soonest or wait, wait)
      end
      return '', math.ceil((soonest or 1000000) / 1000)
    end

    """

  fileprivate static let takeCall = RedisScript(
    "take call",
    grantFunction + """
      local time = redis.call('TIME')
      local endpoints = {}
      for index = 3, #ARGV do endpoints[index - 2] = ARGV[index] end
      return {grant(KEYS[1], ARGV[1], ARGV[2], endpoints, time[1] * 1000000 + time[2])}
      """)

  fileprivate static let pause = RedisScript(
    "pause",
    """
    local time = redis.call('TIME')
    local untilWhen = time[1] * 1000000 + time[2] + ARGV[2] * 1000
    if tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) < untilWhen then
      redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', untilWhen))
    end
    return 1
    """)
}

public import Domain
public import EventLoop
public import Redis

/// The rates of requests that all gateways count together, in Redis.
///
/// Every method throws `RedisError`. After an error the script may have run or not.
@LoopActor
public final class RequestRates {
  private let redis: RedisClient
  private let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Counts a request of one of a publisher's callers. Those of one second may come at once.
  ///
  /// - Parameters:
  ///   - caller: names the caller among those of the publisher; no two kinds of callers may share a name.
  ///   - perSecond: how many requests of this kind the caller may send in a second. One that costs a tenth of the rate
  ///     may be sent ten times, so requests of several kinds share one rate.
  /// - Returns: how long to wait, and nothing was counted; `nil` if the request may go on.
  public func take(_ publisher: PublisherId, _ caller: String, perSecond: Double) async throws -> Duration? {
    let reply = try await redis.run(
      .takeRequest, keys: ["rateKey": keys.requestRate(publisher, caller)],
      arguments: ["rate": String(max(1, perSecond))])
    guard let wait = reply.integer else { throw RedisError.unexpected(reply, "take request") }
    return wait > 0 ? .milliseconds(min(wait, 3_600_000)) : nil
  }
}

extension RedisScript {
  fileprivate static let takeRequest = RedisScript(
    "take request", functions: [.clock, .pace, .rates], keys: ["rateKey"], arguments: ["rate"],
    """
    local _, now = clock()
    local wait, used = exceededRate(redis.call('GET', rateKey), rate, 1000000, now)
    if wait <= 0 then noteRate(rateKey, used, now) end
    return wait
    """)
}

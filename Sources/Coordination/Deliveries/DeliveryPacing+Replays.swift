import EventLoop
import Redis

extension DeliveryPacing {
  /// How much a publisher may ask for in a second: test events and replays, or hundreds of recovered events.
  public nonisolated static let replaysPerSecond = 10
  /// How much of it a publisher may ask for at once.
  public nonisolated static let replaysAtOnce = 100

  /// Takes from the amount that a publisher may ask for, over all gateways.
  ///
  /// - Parameter count: at most ``replaysAtOnce``.
  /// - Returns: `nil` when there was enough. Otherwise the time until there will be enough; the script takes nothing.
  public func takeReplays(_ count: Int, publisher: Int64) async throws -> Duration? {
    let reply = try await redis.run(
      .takeReplays, keys: ["replaysKey": keys.replays(publisher)],
      arguments: [
        "perSecond": String(Self.replaysPerSecond), "atOnce": String(Self.replaysAtOnce), "count": String(count),
      ])
    guard let wait = reply.wait(atLeast: .zero) else { throw unexpected(reply, "take replays") }
    return wait > .zero ? wait : nil
  }
}

extension RedisScript {
  fileprivate static let takeReplays = RedisScript(
    "take replays", functions: [.clock, .pace], keys: ["replaysKey"], arguments: ["perSecond", "atOnce", "count"],
    """
    local _, now = clock()
    local interval = 1000000 / perSecond
    local used, wait = pace(redis.call('GET', replaysKey), now, interval, interval * atOnce, count)
    if wait > 0 then return math.ceil(wait / 1000) end
    redis.call('SET', replaysKey, string.format('%.0f', used), 'PX', math.ceil((used - now) / 1000) + 1000)
    return 0
    """)
}

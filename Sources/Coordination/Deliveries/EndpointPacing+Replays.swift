public import Domain
import EventLoop
import Redis

extension EndpointPacing {
  /// The seconds whose replays may come at once.
  public nonisolated static let secondsOfReplays = 10

  /// Takes from the amount that a publisher may ask for, over all gateways: test events and replays, or hundreds of
  /// recovered events.
  ///
  /// - Parameters:
  ///   - count: at most ``secondsOfReplays`` times the rate.
  ///   - perSecond: the publisher's rate, at least 1.
  /// - Returns: `nil` when there was enough. Otherwise the time until there will be enough; the script takes nothing.
  public func takeReplays(_ count: Int, publisher: PublisherId, perSecond: Int) async throws -> Duration? {
    let reply = try await redis.run(
      .takeReplays, keys: ["replaysKey": keys.replays(publisher)],
      arguments: [
        "perSecond": String(perSecond), "seconds": String(Self.secondsOfReplays), "count": String(count),
      ])
    guard let wait = reply.wait(atLeast: .zero) else { throw RedisError.unexpected(reply, "take replays") }
    return wait > .zero ? wait : nil
  }
}

extension RedisScript {
  fileprivate static let takeReplays = RedisScript(
    "take replays", functions: [.clock, .pace], keys: ["replaysKey"], arguments: ["perSecond", "seconds", "count"],
    """
    local _, now = clock()
    local interval = 1000000 / perSecond
    local used, wait = pace(redis.call('GET', replaysKey), now, interval, 1000000 * seconds, count)
    if wait > 0 then return math.ceil(wait / 1000) end
    redis.call('SET', replaysKey, string.format('%.0f', used), 'PX', math.ceil((used - now) / 1000) + 1000)
    return 0
    """)
}

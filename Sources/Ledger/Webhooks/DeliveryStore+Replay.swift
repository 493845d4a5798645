import EventLoop
import Redis
import Store

extension DeliveryStore {
  /// What a publisher may ask for in a second: test events and events sent again, or hundreds of events recovered.
  public nonisolated static let replaysPerSecond = 10
  /// How much of it at once.
  public nonisolated static let replaysAtOnce = 100

  /// Takes from what a publisher may ask for, over all gateways.
  ///
  /// - Parameter count: at most ``replaysAtOnce``.
  /// - Returns: `nil` when it was there; else after what time it will be, and nothing is taken.
  public func takeReplays(_ count: Int, publisher: Int64) async throws -> Duration? {
    let reply = try await redis.run(
      .takeReplays, keys: [keys.replays(publisher)],
      arguments: [String(Self.replaysPerSecond), String(Self.replaysAtOnce), String(count)])
    guard let wait = reply.integer else { throw unexpected(reply, "take replays") }
    return wait > 0 ? .milliseconds(wait) : nil
  }
}

extension RedisScript {
  /// A generic cell rate algorithm: the key says until when what was taken takes.
  fileprivate static let takeReplays = RedisScript(
    "take replays",
    """
    local time = redis.call('TIME')
    local micros = time[1] * 1000000 + time[2]
    local interval = 1000000 / ARGV[1]
    local room = interval * ARGV[2]
    local used = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or 0), micros), micros + room)
    local after = used + interval * ARGV[3]
    if after - micros > room then return math.ceil((after - micros - room) / 1000) end
    redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - micros) / 1000) + 1000)
    return 0
    """)
}

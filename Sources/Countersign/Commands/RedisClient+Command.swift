import EventLoop
import Redis

extension RedisClient {
  /// Opens a client for a command: it has tried to connect once. A failure shows in the first use.
  @LoopActor
  static func opened(_ endpoint: RedisEndpoint) async -> RedisClient {
    let (changes, change) = AsyncStream.makeStream(of: Void.self)
    let redis = RedisClient(endpoint) { _ in change.yield() }
    redis.start()
    for await _ in changes { break }
    return redis
  }
}

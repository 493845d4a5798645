import EventLoop
import Redis

extension RedisClient {
  /// Opens a client for a command.
  @LoopActor
  static func opened(_ endpoint: RedisEndpoint) async -> RedisClient {
    await afterFirstAttempt { onChange in
      let redis = RedisClient(endpoint) { _ in onChange() }
      redis.start()
      return redis
    }
  }
}

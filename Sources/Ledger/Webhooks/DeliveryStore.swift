public import EventLoop
public import Redis
import Store

/// What the notifiers keep in Redis about their deliveries: limits, the log, the events, and what is owed to whom.
///
/// Every method throws `RedisError`; a thrown error leaves it open whether the script ran, and every script may be
/// run again.
@LoopActor
public final class DeliveryStore {
  let redis: RedisClient
  let keys: Keys

  /// Creates a store over a client, with the configured first part of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  func unexpected(_ reply: RESPValue, _ script: String) -> RedisError {
    RedisError(.reply, operation: "script \(script)", target: "Redis", cause: "unexpected answer \(reply)")
  }
}

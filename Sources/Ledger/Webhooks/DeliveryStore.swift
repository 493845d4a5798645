public import EventLoop
public import Redis
import Store

/// The notifiers' records in Redis about their deliveries: limits, the log, the events, and the events that endpoints
/// have missed.
///
/// Every method throws `RedisError`. After an error the script may have run or not. Every script may run again.
@LoopActor
public final class DeliveryStore {
  let redis: RedisClient
  let keys: Keys

  /// Creates a store over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  func unexpected(_ reply: RESPValue, _ script: String) -> RedisError {
    RedisError(.reply, operation: "script \(script)", target: "Redis", cause: "unexpected answer \(reply)")
  }
}

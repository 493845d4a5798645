public import Domain
public import EventLoop
public import Redis

/// The turns of jobs that wait in a line, in Redis.
///
/// Every method throws `RedisError`. After an error the script may have run or not.
@LoopActor
public final class WaitingTurns {
  private let redis: RedisClient
  private let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Gives the next turn of a publisher's jobs that wait for an app whose key Apple refuses: together they run
  /// ``JobRetryPolicy/waitingRunsPerSecond`` times a second (decision 0037).
  ///
  /// If Redis was wiped, the line begins anew. The jobs that have their turns keep them, so for one round twice as many
  /// run.
  ///
  /// - Returns: how long until then; a day at most. So from 1.7 million jobs on, each of them runs once a day.
  public func take(of publisher: PublisherId) async throws -> Duration {
    let reply = try await redis.run(
      .takeTurn, keys: ["turnsKey": keys.turns(publisher)],
      arguments: [
        "interval": String(1_000_000 / JobRetryPolicy.waitingRunsPerSecond),
        "longest": String(Self.longestLine.wholeMilliseconds),
      ])
    guard let wait = reply.wait() else { throw RedisError.unexpected(reply, "take turn") }
    return wait
  }

  /// The longest wait that anything in Redis asks for (`RESPValue.wait`).
  private static let longestLine = Duration.seconds(86_400)
}

extension RedisScript {
  fileprivate static let takeTurn = RedisScript(
    "take turn", functions: [.clock, .pace], keys: ["turnsKey"], arguments: ["interval", "longest"],
    """
    local _, now = clock()
    local last = pace(redis.call('GET', turnsKey), now, tonumber(interval), longest * 1000, 1)
    local wait = math.ceil((last - now) / 1000)
    redis.call('SET', turnsKey, string.format('%.0f', last), 'PX', wait)
    return wait
    """)
}

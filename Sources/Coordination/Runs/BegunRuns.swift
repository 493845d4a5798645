public import EventLoop
public import Redis

/// How many runs of something have begun and never ended, in Redis: each of them died with its process (decision 0034).
///
/// It counts only what may have killed a process: messages that the broker delivers again, and what a sweep finds. All
/// other runs cost nothing here. Every method throws `RedisError`; after an error the command may have run or not.
@LoopActor
public final class BegunRuns {
  private let redis: RedisClient
  private let keys: Keys

  /// For so long a count stays behind the last run that began.
  public nonisolated static let retention = Duration.seconds(86_400)

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Whether Redis can answer now.
  public var isReady: Bool { redis.isReady }

  /// Returns how many runs of each have not ended, in the order of the names.
  public func counts(_ names: [String]) async throws -> [Int] {
    guard !names.isEmpty else { return [] }
    let reply = try await redis.send(["MGET"] + names.map(keys.begun))
    guard let counts = reply.array, counts.count == names.count else {
      throw RedisError(
        .reply, operation: "read begun runs", target: "Redis", cause: "unexpected answer \(reply)")
    }
    return counts.map { max(0, Int(clamping: $0.string.flatMap { Int64($0) } ?? 0)) }
  }

  /// Notes that a run of each begins.
  public func begin(_ names: [String]) async throws {
    guard !names.isEmpty else { return }
    _ = try await redis.run(
      .beginRuns, moreKeys: names.map(keys.begun),
      arguments: ["retention": String(Self.retention.wholeMilliseconds)])
  }

  /// Notes that the runs of each have ended, in whatever way: no process died of them.
  public func end(_ names: [String]) async throws {
    guard !names.isEmpty else { return }
    _ = try await redis.send(["UNLINK"] + names.map(keys.begun))
  }
}

extension RedisScript {
  fileprivate static let beginRuns = RedisScript(
    "begin runs", moreKeys: "first", arguments: ["retention"],
    """
    for number = first, #KEYS do
      local known = tonumber(redis.call('GET', KEYS[number]) or '0') or 0
      redis.call('SET', KEYS[number], string.format('%d', math.max(known, 0) + 1), 'PX', retention)
    end
    """)
}

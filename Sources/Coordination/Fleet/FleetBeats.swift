public import EventLoop
public import Redis

/// Which processes the fleet has, in Redis: each tells about itself every few seconds, and says when it stops.
///
/// Nothing depends on it: it is for people. Every method throws `RedisError`.
@LoopActor
public final class FleetBeats {
  private let redis: RedisClient
  private let keys: Keys

  /// How often a process tells about itself.
  public nonisolated static let interval = Duration.seconds(5)
  /// A process that was not heard for so long is silent.
  public nonisolated static let silence = Duration.seconds(20)
  /// A process that fell silent without a word is forgotten after this long.
  public nonisolated static let memory = Duration.seconds(900)
  /// More processes than these are not read at once.
  public nonisolated static let most = 500

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Keeps what a process tells.
  public func tell(_ beat: FleetBeat) async throws {
    _ = try await redis.run(
      .beat, keys: ["fleetKey": keys.fleet],
      arguments: [
        "prefix": keys.beat(""), "id": beat.id, "record": beat.record,
        "memory": String(Self.memory.wholeMilliseconds),
      ])
  }

  /// Forgets a process, which stops.
  public func leave(_ id: String) async throws {
    _ = try await redis.send(["ZREM", keys.fleet, id])
    _ = try await redis.send(["UNLINK", keys.beat(id)])
  }

  /// Reads what the processes have told: those heard most recently, ``most`` of them.
  public func all() async throws -> [FleetBeat] {
    let reply = try await redis.run(
      .readBeats, keys: ["fleetKey": keys.fleet], arguments: ["prefix": keys.beat(""), "most": String(Self.most)])
    guard let parts = reply.array, let readAt = parts.first?.integer, parts.count % 2 == 1 else {
      throw RedisError.unexpected(reply, "read beats")
    }
    return stride(from: 1, to: parts.count, by: 2).compactMap { place in
      guard let record = parts[place].string, let heardAt = parts[place + 1].string.flatMap({ Int64($0) })
      else { return nil }
      return FleetBeat(record: record, heardAt: heardAt, readAt: readAt)
    }
  }
}

extension RedisScript {
  fileprivate static let beat = RedisScript(
    "beat", functions: [.clock], keys: ["fleetKey"], arguments: ["prefix", "id", "record", "memory"],
    """
    local now = clock()
    redis.call('SET', prefix .. id, record, 'PX', memory)
    redis.call('ZADD', fleetKey, now, id)
    redis.call('ZREMRANGEBYSCORE', fleetKey, '-inf', now - memory)
    redis.call('PEXPIRE', fleetKey, memory)
    """)

  fileprivate static let readBeats = RedisScript(
    "read beats", functions: [.clock], keys: ["fleetKey"], arguments: ["prefix", "most"],
    """
    local now = clock()
    local found = redis.call('ZREVRANGE', fleetKey, 0, most - 1, 'WITHSCORES')
    local answer = {now}
    for index = 1, #found, 2 do
      local record = redis.call('GET', prefix .. found[index])
      if record then
        answer[#answer + 1] = record
        answer[#answer + 1] = found[index + 1]
      end
    end
    return answer
    """)
}

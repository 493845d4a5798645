public import Domain
import EventLoop
import FoundationEssentials
import JSON
import Redis

extension PurchaseStore {
  /// Returns the jobs of open synchronizations that are due, finalized ones without a published event among them, and puts their next look off, so that of many workers
  /// only one gets each.
  ///
  /// - Parameters:
  ///   - limit: at most so many.
  ///   - interval: until the next look at the same synchronization.
  ///   - overdue: only those that have been due for so long.
  public func dueJobs(
    limit: Int, lookAgainAfter interval: Duration, overdueBy overdue: Duration = .zero
  ) async throws -> [Job] {
    let reply = try await redis.run(
      .sweep, keys: [keys.open],
      arguments: [
        String(limit), String(interval.wholeMilliseconds), keys.synchronizationPrefix,
        String(overdue.wholeMilliseconds),
      ])
    return (reply.array ?? []).compactMap { element in
      element.string.flatMap { try? Job(JSONText(Array($0.utf8))) }
    }
  }

  /// How many synchronizations are not finalized, or are and have not been told.
  public func openCount() async throws -> Int64 { try await redis.send(["ZCARD", keys.open]).integer ?? 0 }
}

extension RedisScript {
  fileprivate static let sweep = RedisScript(
    "sweep",
    """
    local now = redis.call('TIME')
    local millis = now[1] * 1000 + math.floor(now[2] / 1000)
    local jobs = {}
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', millis - ARGV[4], 'LIMIT', 0, ARGV[1])) do
      local state = redis.call('HMGET', ARGV[3] .. member, 'status', 'job')
      if not state[1] or not state[2] then
        redis.call('ZREM', KEYS[1], member)
      else
        redis.call('ZADD', KEYS[1], millis + ARGV[2], member)
        jobs[#jobs + 1] = state[2]
      end
    end
    return jobs
    """)
}

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
      .sweep, keys: ["openKey": keys.open],
      arguments: [
        "limit": String(limit), "interval": String(interval.wholeMilliseconds), "prefix": keys.synchronizationPrefix,
        "overdue": String(overdue.wholeMilliseconds),
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
    "sweep", functions: [.clock], keys: ["openKey"], arguments: ["limit", "interval", "prefix", "overdue"],
    """
    local millis = clock()
    local jobs = {}
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', openKey, '-inf', millis - overdue, 'LIMIT', 0, limit)) do
      local state = redis.call('HMGET', prefix .. member, 'status', 'job')
      if not state[1] or not state[2] then
        redis.call('ZREM', openKey, member)
      else
        redis.call('ZADD', openKey, millis + interval, member)
        jobs[#jobs + 1] = state[2]
      end
    end
    return jobs
    """)
}

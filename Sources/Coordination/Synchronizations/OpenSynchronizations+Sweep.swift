public import Domain
import EventLoop
import FoundationEssentials
import JSON
import Redis

/// What a sweep has found.
public struct DueJobs: Sendable, Equatable {
  /// The jobs that the sweep must enqueue again.
  public var jobs: [DueJob] = []
  /// How many synchronizations only a newer process can read. Such a process will enqueue them.
  public var newer = 0
  /// How many synchronizations hold no readable job.
  public var unreadable = 0
  /// How many synchronizations the look has met.
  public var count: Int { jobs.count + newer + unreadable }

  /// Creates what a sweep has found.
  public init(jobs: [DueJob] = [], newer: Int = 0, unreadable: Int = 0) {
    (self.jobs, self.newer, self.unreadable) = (jobs, newer, unreadable)
  }
}

extension OpenSynchronizations {
  /// Returns the jobs of open synchronizations that are due, and delays the next look at each.
  ///
  /// So of many workers only one gets each job.
  ///
  /// - Parameters:
  ///   - lane: that of the jobs.
  ///   - limit: the most jobs to return.
  ///   - interval: the time until the next look at the same synchronization.
  ///   - overdue: returns only synchronizations that have been due for this long.
  ///   - doors: those of this build.
  public func dueJobs(
    _ lane: JobLane = .usual, limit: Int, lookAgainAfter interval: Duration, overdueBy overdue: Duration = .zero,
    doors: DoorCatalog
  ) async throws -> DueJobs {
    let reply = try await redis.run(
      .sweep, keys: ["openKey": keys.open(lane)],
      arguments: [
        "limit": String(limit), "interval": String(interval.wholeMilliseconds), "prefix": keys.synchronizationPrefix,
        "overdue": String(overdue.wholeMilliseconds),
      ])
    guard let parts = reply.array, parts.count == 2, let texts = parts[0].array, let newer = parts[1].integer else {
      throw RedisError.unexpected(reply, "sweep")
    }
    var due = DueJobs(newer: Int(newer))
    for row in texts {
      let fields = row.array ?? []
      do {
        let job = try Job(JSONText(Array((fields[at: 0].string ?? "").utf8), limits: .own), doors: doors)
        due.jobs.append(
          DueJob(
            job, run: fields[at: 1].integer ?? 0, isHurried: fields[at: 2].integer == 1,
            isOutOfLine: fields[at: 3].integer == 1))
      } catch is Job.NewerFormat {
        due.newer += 1
      } catch {
        due.unreadable += 1
      }
    }
    return due
  }
}

extension RedisScript {
  fileprivate static let sweep = RedisScript(
    "sweep", functions: [.clock, .newer], keys: ["openKey"], arguments: ["limit", "interval", "prefix", "overdue"],
    """
    local millis = clock()
    local jobs, newerCount = {}, 0
    local due = redis.call('ZRANGEBYSCORE', openKey, '-inf', millis - overdue, 'WITHSCORES', 'LIMIT', 0, limit)
    for index = 1, #due, 2 do
      local member = due[index]
      local state = redis.call('HMGET', prefix .. member, 'status', 'job', 'recordVersion', 'sweeps', 'run', 'held')
      if newer(member, state[3]) then
        redis.call('ZADD', openKey, millis + interval, member)
        newerCount = newerCount + 1
      elseif not state[1] or not state[2] then
        redis.call('ZREM', openKey, member)
      else
        redis.call('ZADD', openKey, millis + interval, member)
        -- The number counts when its message arrives: until then an earlier message is the only one.
        local run = math.max(tonumber(state[4] or 0), tonumber(state[5] or 0)) + 1
        redis.call('HSET', prefix .. member, 'sweeps', run)
        jobs[#jobs + 1] = {state[2], run, tonumber(due[index + 1]) <= \(HurriedTurns.last) and 1 or 0,
          state[6] == '\(DueJob.outOfLine)' and 1 or 0}
      end
    end
    return {jobs, newerCount}
    """)
}

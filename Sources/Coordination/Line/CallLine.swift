public import Domain
public import EventLoop
import FoundationEssentials
import JSON
public import Redis

/// The jobs that wait for a call to Apple, in Redis: who waits, and whose turn it is.
///
/// `Leases.take` puts a job into the line of its place. Here a worker takes out the jobs whose turn it is: each comes
/// with its lease and with its call.
///
/// Every method throws `RedisError`. After an error the script may have run or not: a job that it gave out then waits
/// for its copy at the broker.
@LoopActor
public final class CallLine {
  private let redis: RedisClient
  private let keys: Keys

  /// While Redis runs a script, all other clients wait.
  public static let mostAtOnce = 50

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Takes the next jobs out of the line, each with its lease and its call.
  ///
  /// - Parameters:
  ///   - limit: the most jobs; ``mostAtOnce`` at most.
  ///   - duration: of the leases.
  ///   - sweepAfter: when the sweep may look at a synchronization.
  ///   - doors: those of this build.
  public func next(
    _ limit: Int, for duration: Duration, sweepAfter: Duration, doors: DoorCatalog
  ) async throws -> AwaitedJobs {
    let reply = try await redis.run(
      .nextInLine, keys: ["linesKey": keys.lines, "openKey": keys.open, "budgetsKey": keys.budgets],
      arguments: [
        "prefix": keys.prefix, "duration": String(duration.wholeMilliseconds),
        "sweepAfter": String(sweepAfter.wholeMilliseconds), "limit": String(min(max(1, limit), Self.mostAtOnce)),
      ])
    guard let answer = AwaitedJobs(reply, doors: doors) else {
      throw RedisError.unexpected(reply.array ?? [], "next in line")
    }
    return answer
  }

  /// How many jobs wait.
  public func count() async throws -> Int {
    let reply = try await redis.run(.countLine, keys: ["linesKey": keys.lines], arguments: ["prefix": keys.prefix])
    guard let count = reply.integer else { throw RedisError.unexpected(reply.array ?? [], "count line") }
    return Int(clamping: count)
  }

  /// Notes that the copy of a job at the broker is needed no more: another message has taken its place.
  public func forget(copy: String, of job: Job) async throws {
    _ = try await redis.run(
      .forgetCopy, keys: ["synchronizationKey": keys.synchronization(job.publisherId, job.synchronizationId)],
      arguments: ["copy": copy])
  }
}

extension RedisScript {
  fileprivate static let nextInLine = RedisScript(
    "next in line",
    functions: [
      .clock, .pace, .grant, .newer, .readRecord, .writeRecord, .giveLease, .firstInLine, .leaveLine,
    ],
    keys: ["linesKey", "openKey", "budgetsKey"], arguments: ["prefix", "duration", "sweepAfter", "limit"],
    """
    local millis, micros = clock()
    local found, looks = {}, 0
    limit = tonumber(limit)

    -- Returns the waiting synchronization of a job in a line, or nothing if the job waits there no more.
    local function waiting(name, job)
      if not job.member then return end
      local key = prefix .. 'sync:' .. job.member
      local state = redis.call('HMGET', key, 'status', 'job', 'transaction', 'line', 'recordVersion', 'crashes', 'copy',
        'attempt', 'joined', 'deliveries')
      if not state[1] or state[1] == 'finalized' or not state[2] or state[4] ~= name then return end
      if newer(key, state[5]) then return end
      local transactionKey = prefix .. 'transaction:' .. job.publisher .. ':' .. state[3]
      local kept = redis.call('GET', transactionKey)
      if newerText(transactionKey, kept) then return end
      return {key = key, transactionKey = transactionKey, job = state[2], crashes = tonumber(state[6] or 0),
        copy = state[7] or '', attempt = state[8] or '1', joined = state[9] or millis,
        deliveries = state[10] or 1, kept = kept}
    end

    -- Gives out jobs of a line until a budget has no call left.
    local function give(name, most)
      local line = prefix .. 'line:' .. name
      local place, only = string.match(name, '^([^|]*|[^|]*)|?(.*)$')
      local budgets = {}
      for endpoint, rate in string.gmatch(redis.call('HGET', line, 'budgets') or '', '([^ ]+) ([^ ]+)') do
        if only == '' or only == endpoint then budgets[#budgets + 1] = {endpoint, rate} end
      end
      local due = millis
      while most > 0 and looks < 4 * limit do
        looks = looks + 1
        local job = firstInLine(line)
        if not job then
          redis.call('DEL', line)
          redis.call('ZREM', linesKey, name)
          return
        end
        local synchronization = waiting(name, job)
        if not synchronization then
          leaveLine(line, job)
          endTurn(line, job)
        else
          local last, untilWhen, freshUntil, original, environment, route = readRecord(synchronization.kept)
          local isFresh = tonumber(freshUntil) > millis
          if tonumber(untilWhen) > millis then
            -- Another synchronization of the transaction runs. Its end may be a moment away.
            endTurn(line, job)
            due = millis + 250
            most = most - 1
          else
            local endpoint, wait = '', 0
            if not isFresh then endpoint, wait = grant(budgetsKey, place, budgets, micros) end
            if wait > 0 then
              due = millis + wait
              break
            end
            leaveLine(line, job)
            endTurn(line, job)
            redis.call('HDEL', synchronization.key, 'line', 'joined')
            redis.call('ZADD', openKey, millis + sweepAfter, job.member)
            found[#found + 1] = {synchronization.job, synchronization.attempt, synchronization.copy,
              millis - synchronization.joined,
              giveLease(synchronization.transactionKey, synchronization.key, synchronization.kept,
                synchronization.crashes, duration, place, endpoint, synchronization.deliveries)}
            most = most - 1
            due = millis
          end
        end
      end
      redis.call('ZADD', linesKey, 'XX', due, name)
    end

    local due = redis.call('ZRANGEBYSCORE', linesKey, '-inf', millis, 'LIMIT', 0, limit)
    for index, name in ipairs(due) do
      give(name, math.max(1, math.floor((limit - #found) / (#due - index + 1))))
    end
    local earliest = redis.call('ZRANGE', linesKey, 0, 0, 'WITHSCORES')
    return {found, earliest[2] and math.max(0, earliest[2] - millis) or -1}
    """)

  fileprivate static let countLine = RedisScript(
    "count line", keys: ["linesKey"], arguments: ["prefix"],
    """
    local count = 0
    for _, name in ipairs(redis.call('ZRANGE', linesKey, 0, 9999)) do
      count = count + (redis.call('HGET', prefix .. 'line:' .. name, 'jobs') or 0)
    end
    return count
    """)

  fileprivate static let forgetCopy = RedisScript(
    "forget copy", keys: ["synchronizationKey"], arguments: ["copy"],
    """
    return redis.call('HGET', synchronizationKey, 'copy') == copy and redis.call('HDEL', synchronizationKey, 'copy') or 0
    """)
}

public import Domain
public import EventLoop
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
  ///   - allowances: how many jobs the worker takes; ``mostAtOnce`` at most. The turns of publishers of which it takes
  ///     no more go to others.
  ///   - duration: of the leases.
  ///   - doors: those of this build.
  public func next(
    _ allowances: LineAllowances, for duration: Duration, doors: DoorCatalog
  ) async throws -> AwaitedJobs {
    let reply = try await redis.run(
      .nextInLine,
      keys: [
        "linesKey": keys.lines(.usual), "bulkLinesKey": keys.lines(.bulk), "openKey": keys.open(.usual),
        "bulkOpenKey": keys.open(.bulk), "budgetsKey": keys.budgets,
      ],
      arguments: [
        "prefix": keys.prefix, "duration": String(duration.wholeMilliseconds),
        "limit": String(min(max(1, allowances.all), Self.mostAtOnce)), "bulkLimit": String(allowances.bulk),
        "ofOthers": String(allowances.others.all), "bulkOfOthers": String(allowances.others.bulk),
      ], moreArguments: allowances.arguments)
    guard let answer = AwaitedJobs(reply, doors: doors) else {
      throw RedisError.unexpected(reply, "next in line")
    }
    return answer
  }

  /// How many jobs of a lane wait.
  public func count(_ lane: JobLane) async throws -> Int {
    let reply = try await redis.run(
      .countLine, keys: ["linesKey": keys.lines(lane)], arguments: ["prefix": keys.prefix])
    guard let count = reply.integer else { throw RedisError.unexpected(reply, "count line") }
    return Int(clamping: count)
  }
}

extension RedisScript {
  fileprivate static let nextInLine = RedisScript(
    "next in line",
    functions: [
      .clock, .pace, .grant, .grantLater, .grantInLane, .newer, .readRecord, .writeRecord, .giveLease, .firstInLine,
      .leaveLine,
    ],
    keys: ["linesKey", "bulkLinesKey", "openKey", "bulkOpenKey", "budgetsKey"],
    arguments: ["prefix", "duration", "limit", "bulkLimit", "ofOthers", "bulkOfOthers"],
    moreArguments: "firstNamed",
    """
    local millis, micros = clock()
    limit, bulkLimit = tonumber(limit), tonumber(bulkLimit)
    local found = {}
    -- How many jobs a look at the lines of a lane may look at. Those that it cannot give out count, too.
    local looks
    -- What the worker still takes of each publisher, in all and in bulk.
    local left, leftInBulk = {}, {}
    for index = firstNamed, #ARGV, 3 do
      left[ARGV[index]], leftInBulk[ARGV[index]] = tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2])
    end
    -- One job in bulk may be one too many: usual jobs of the same publisher may take all that is left.
    local hasExtra = true
    local function mayTake(publisher, isBulk)
      local hasPlace = (left[publisher] or tonumber(ofOthers)) > 0
      if not isBulk then return hasPlace end
      return (hasPlace or hasExtra) and (leftInBulk[publisher] or tonumber(bulkOfOthers)) > 0
    end
    local function noteTaken(publisher, isBulk)
      left[publisher] = (left[publisher] or tonumber(ofOthers)) - 1
      if not isBulk then return end
      if left[publisher] < 0 then hasExtra = false end
      leftInBulk[publisher] = (leftInBulk[publisher] or tonumber(bulkOfOthers)) - 1
    end

    -- Returns the waiting synchronization of a job in a line, or nothing and whether only a newer process can read it.
    local function waiting(name, job)
      if not job.member then return nil, false end
      local key = prefix .. 'sync:' .. job.member
      local state = redis.call('HMGET', key, 'status', 'job', 'transaction', 'line', 'recordVersion', 'crashes', 'copy',
        'attempt', 'joined', 'deliveries', 'run')
      if newer(key, state[5]) then return nil, true end
      if not state[1] or state[1] == 'finalized' or not state[2] or state[4] ~= name then return nil, false end
      local transactionKey = prefix .. 'transaction:' .. job.publisher .. ':' .. state[3]
      local kept = redis.call('GET', transactionKey)
      if newerText(transactionKey, kept) then return nil, true end
      local last, untilWhen, freshUntil = readRecord(kept)
      if not last then return nil, false end
      return {key = key, transactionKey = transactionKey, job = state[2], crashes = tonumber(state[6] or 0),
        copy = state[7] or '', attempt = state[8] or '1', joined = state[9] or millis,
        deliveries = state[10] or 1, run = state[11] or '0', kept = kept, isBusy = tonumber(untilWhen) > millis, isFresh = tonumber(freshUntil) > millis}
    end

    -- A line that is due: its name, its key, its place and budgets, and when it had a turn last.
    local function open(lines, name)
      local key = prefix .. 'line:' .. name
      local state = redis.call('HMGET', key, 'budgets', 'served')
      local place, only, lane = string.match(name, '^([^|]*|[^|]*)|?([^|]*)|?(.*)$')
      local budgets = {}
      for endpoint, rate in string.gmatch(state[1] or '', '([^ ]+) ([^ ]+)') do
        if only == '' or only == endpoint then budgets[#budgets + 1] = {endpoint, rate} end
      end
      return {lines = lines, name = name, key = key, place = place, budgets = budgets,
        urgency = lane == 'bulk' and 'bulk' or 'awaited', isBulk = lane == 'bulk',
        openKey = lane == 'bulk' and bulkOpenKey or openKey, served = tonumber(state[2] or 0)}
    end

    -- Gives out one job of a line. Returns whether the line may have another one now.
    local function giveOne(line)
      local skipped, seen = {}, {}
      while looks > 0 do
        looks = looks - 1
        local job = firstInLine(line.key)
        if not job then
          redis.call('DEL', line.key)
          redis.call('ZREM', line.lines, line.name)
          line.isGone = true
          return false
        end
        local isTaken = mayTake(job.publisher, line.isBulk)
        local synchronization, isNewer
        if isTaken then synchronization, isNewer = waiting(line.name, job) end
        if not isTaken then
          -- The line stays due: another worker may have a place for all publishers that are left.
          if skipped[job.publisher] then return false end
          skipped[job.publisher] = true
          skipPublisher(line.key, job)
        elseif not synchronization and not isNewer then
          leaveLine(line.key, job)
          endTurn(line.key, job)
        elseif isNewer or synchronization.isBusy then
          -- A newer process takes it, or the end of another run of the transaction may be a moment away.
          if seen[job.member] then
            line.due = millis + 250
            return false
          end
          seen[job.member] = true
          redis.call('ZADD', line.key .. ':' .. job.publisher .. ':' .. job.customer, 'XX', millis, job.member)
          endTurn(line.key, job)
        else
          local endpoint, wait = '', 0
          if not synchronization.isFresh then
            endpoint, wait = grantInLane(line.urgency, prefix, budgetsKey, line.place, line.budgets, micros)
          end
          if wait > 0 then
            line.due = millis + wait
            return false
          end
          leaveLine(line.key, job)
          endTurn(line.key, job)
          noteTaken(job.publisher, line.isBulk)
          redis.call('HSET', line.key, 'served', string.format('%.0f', micros + #found))
          redis.call('HDEL', synchronization.key, 'line', 'joined')
          -- Soon: if this answer does not arrive, nobody has the job. The first renewal of the lease puts it off.
          redis.call('ZADD', line.openKey, millis + duration + 10000, job.member)
          found[#found + 1] = {synchronization.job, synchronization.attempt, synchronization.copy,
            millis - synchronization.joined,
            giveLease(synchronization.transactionKey, synchronization.key, synchronization.kept, micros,
              synchronization.crashes, duration, line.place, endpoint, synchronization.deliveries,
              \(DueJob.outOfLine)),
            synchronization.run}
          return true
        end
      end
      return false
    end

    -- A line that has just come due waits for the same budgets as those that are. Of all of them, the one that had a
    -- turn longest ago goes first, and each gives one job a round: so no line of a place keeps calls from another.
    local function giveRounds(key, most)
      local lines = {}
      local enough = #found + most
      looks = 4 * most + 20
      for _, name in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', millis + 25, 'LIMIT', 0, most + 20)) do
        lines[#lines + 1] = open(key, name)
      end
      table.sort(lines, function(one, other) return one.served < other.served end)
      local rest = lines
      while #rest > 0 and #found < enough do
        local again = {}
        for _, line in ipairs(rest) do
          if #found < enough and giveOne(line) then again[#again + 1] = line end
        end
        rest = again
      end
      for _, line in ipairs(lines) do
        if not line.isGone then redis.call('ZADD', key, 'XX', line.due or millis, line.name) end
      end
      return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    end

    local earliest = giveRounds(linesKey, limit)
    -- One job in bulk may be one more than the limit. So looks that usual jobs fill never keep bulk out: some of the
    -- calls are its own.
    local most = math.min(bulkLimit, math.max(1, limit - #found))
    if most > 0 then
      local bulk = giveRounds(bulkLinesKey, most)
      earliest = earliest and bulk and math.min(earliest, bulk) or earliest or bulk
    end
    return {found, earliest and math.max(0, earliest - millis) or -1}
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
}

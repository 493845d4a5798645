public import Domain
public import EventLoop
public import Redis

/// The workers' rights to run synchronizations now, in Redis.
///
/// Each change of state is one script, so it happens whole or not at all. Every method throws `RedisError`. After an
/// error the script may have run or not. Every script may run again.
@LoopActor
public final class Leases {
  private let redis: RedisClient
  private let keys: Keys
  private let finalized: FinalizedJobs

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
    finalized = FinalizedJobs(redis, keys)
  }

  /// Takes the lease on the job's transaction, with a new fencing number.
  ///
  /// The number is the greater of the last one plus one and Redis' clock in microseconds. So it grows even when Redis
  /// was wiped (decision 0004). If Redis has lost the synchronization, the script restores it from the job.
  ///
  /// The script takes the first call to Apple out of its budget in the same step: a run that may not call does not
  /// begin. Its job joins the line (`CallLine`). While others wait in the line, no call is left for it.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt, for a job that joins the line.
  ///   - copy: the copy of the job that stays at the broker while the job waits in the line.
  ///   - isDelivered: whether the caller has just got the job from the broker, for the count of its deliveries.
  ///   - wasRedelivered: whether a delivery of the job ended without an acknowledgement. Only then a run that did not
  ///     end counts as a crash. A worker that lives, but could not reach Redis, has put the job back by itself.
  ///   - places: the places to ask Apple, the first choice first; a known route goes before it. Empty makes no call.
  ///   - run: the run that the delivery is for; 0 if it has no number. A number below one that has arrived before is
  ///     superseded.
  ///   - mayCall: whether a call that is free may be the job's. Otherwise the job joins the line, if it needs a call.
  public func take(
    _ job: Job, attempt: Int = 1, copy: JobCopy = JobCopy(), for duration: Duration, sweepAfter: Duration,
    isDelivered: Bool = true, wasRedelivered: Bool = false, places: [CallPlace] = [], mayCall: Bool = true,
    run: Int64 = 0
  ) async throws -> LeaseAnswer {
    let call = taking(job, attempt, copy, duration, sweepAfter, isDelivered, wasRedelivered, places, mayCall, run)
    let reply = try await redis.run(call)
    guard let answer = LeaseAnswer(reply) else { throw RedisError.unexpected(reply, "take lease") }
    return answer
  }

  private func taking(
    _ job: Job, _ attempt: Int, _ copy: JobCopy, _ duration: Duration, _ sweepAfter: Duration, _ isDelivered: Bool,
    _ wasRedelivered: Bool, _ places: [CallPlace], _ mayCall: Bool, _ run: Int64
  ) -> RedisScript.Call {
    let (publisher, transaction) = (job.publisherId, job.transactionId)
    return RedisScript.takeLease.call(
      keys: [
        "transactionKey": keys.transaction(publisher, transaction),
        "synchronizationKey": keys.synchronization(publisher, job.synchronizationId),
        "claimKey": keys.claim(publisher, transaction), "openKey": keys.open(job.lane), "budgetsKey": keys.budgets,
        "linesKey": keys.lines(job.lane), "limitsKey": keys.limits,
        "customerOpenKey": keys.open(publisher, job.customerId),
      ],
      arguments: [
        "prefix": keys.prefix, "duration": String(duration.wholeMilliseconds), "claim": job.claim.encoded,
        "member": keys.member(publisher, job.synchronizationId), "sweepAfter": String(sweepAfter.wholeMilliseconds),
        "customer": job.customerId.text, "party": job.party, "transaction": transaction.text, "job": job.text,
        "traceparent": job.traceparent ?? "", "kind": job.kind.rawValue,
        "wasRedelivered": wasRedelivered ? "1" : "0", "publisher": String(publisher),
        "age": String(job.registeredAt), "attempt": String(attempt), "isDelivered": isDelivered ? "1" : "0",
        "isCopy": copy.isDelivered ? "1" : "0", "copy": copy.id, "countsForCustomer": job.countsForCustomer ? "1" : "0",
        "urgency": CallUrgency(of: job.lane).rawValue, "mayCall": mayCall ? "1" : "0",
        "run": String(run),
      ],
      moreArguments: places.flatMap { place in place.budgets.flatMap { [place.name.text, $0.endpoint, $0.rate] } })
  }

  /// Makes leases last longer, and keeps the sweep away from running jobs.
  ///
  /// - Returns: false for a lease that has ended, or when another worker has a later one. The run may go on. At its end
  ///   it drops its result if the lease has ended by its own clock.
  public func renew(
    _ held: [(job: Job, lease: Lease)], for duration: Duration, sweepAfter: Duration
  ) async throws -> [Bool] {
    let reply =
      try await redis.run(
        .renewLeases,
        keys: [:],
        moreKeys: held.flatMap {
          [keys.transaction($0.job.publisherId, $0.job.transactionId), keys.open($0.job.lane)]
        },
        arguments: [
          "duration": String(duration.wholeMilliseconds), "sweepAfter": String(sweepAfter.wholeMilliseconds),
        ],
        moreArguments: held.flatMap {
          [String($0.lease.fence), keys.member($0.job.publisherId, $0.job.synchronizationId)]
        }
      ).array ?? []
    guard reply.count == held.count else { throw RedisError.unexpected(reply, "renew leases") }
    return reply.map { $0.integer == 1 }
  }

  /// Gives the lease back because the job goes to a delay queue. After a failure the status becomes `retrying`.
  ///
  /// - Parameters:
  ///   - sweepAfter: when the sweep may look at the synchronization; must be longer than the delay.
  ///   - route: the route for the next run; `nil` leaves the present one.
  ///   - cause: why the synchronization is retrying.
  ///   - isRun: whether the worker ran the job. A job that it set aside before keeps its count of crashes.
  public func release(
    _ job: Job, _ lease: Lease, isRetrying: Bool, sweepAfter: Duration, route: String?,
    cause: RetryCause? = nil, isRun: Bool = true
  ) async throws {
    let (publisher, transaction) = (job.publisherId, job.transactionId)
    _ = try await redis.run(
      .release,
      keys: [
        "transactionKey": keys.transaction(publisher, transaction),
        "synchronizationKey": keys.synchronization(publisher, job.synchronizationId),
        "openKey": keys.open(job.lane),
      ],
      arguments: [
        "fence": String(lease.fence), "newStatus": isRetrying ? "retrying" : "",
        "member": keys.member(publisher, job.synchronizationId), "sweepAfter": String(sweepAfter.wholeMilliseconds),
        "newRoute": route ?? "", "recordLasts": String(Self.openRecord.wholeMilliseconds),
        "isRun": isRun ? "1" : "0", "cause": cause?.rawValue ?? "",
      ])
  }

  /// Notes that the copy of a job at the broker is no longer needed: another message has taken its place.
  public func forget(_ copy: JobCopy, of job: Job) async throws {
    _ = try await redis.run(
      .forgetCopy, keys: ["synchronizationKey": keys.synchronization(job.publisherId, job.synchronizationId)],
      arguments: ["copy": copy.id])
  }

  /// Takes a finalized synchronization out of Redis. The claim, the open entry and the lease go in one step.
  public func finalize(_ job: FinalizedJob) async throws { try await finalized.add(job) }

  /// How long Redis keeps the record of a transaction that the ledger knows, after its last run.
  static let routeRetention: Duration = .seconds(30 * 86_400)
  /// How long Redis keeps a record while its job waits for the next run. Without it that run only asks Apple again.
  static let openRecord: Duration = .seconds(86_400)
}

extension RedisScript {
  fileprivate static let takeLease = RedisScript(
    "take lease",
    functions: [
      .clock, .pace, .grant, .grantLater, .grantInLane, .newer, .readRecord, .writeRecord, .giveLease, .joinLine,
      .expectedWait, .openCounts,
    ],
    keys: [
      "transactionKey", "synchronizationKey", "claimKey", "openKey", "budgetsKey", "linesKey", "limitsKey",
      "customerOpenKey",
    ],
    arguments: [
      "prefix", "duration", "claim", "member", "sweepAfter", "customer", "party", "transaction", "job", "traceparent",
      "kind", "wasRedelivered", "publisher", "age", "attempt", "isDelivered", "isCopy", "copy",
      "countsForCustomer", "urgency", "mayCall", "run",
    ],
    moreArguments: "firstBudget",
    """
    -- Restores from the job the records that Redis has lost, and makes the claim last.
    local function restore(status, holder)
      if not status then
        redis.call('HSET', synchronizationKey, 'transaction', transaction, 'customer', customer, 'status', 'processing',
          'job', job, 'traceparent', traceparent, 'kind', kind)
        if run ~= '0' then redis.call('HSET', synchronizationKey, 'run', run) end
        noteOpen(limitsKey, customerOpenKey, publisher, countsForCustomer, member)
      end
      if not holder then
        redis.call('SET', claimKey, claim)
      elseif holder == claim then
        redis.call('PERSIST', claimKey)
      end
    end

    -- Returns the place of the first call, its budgets, and the line to wait in. The place of the route comes before
    -- the first place. In that place the endpoint of the route comes before the others.
    local function firstPlace(route)
      local place = ARGV[firstBudget]
      local at, only = string.match(route, '^([^|]*|[^|]*)|?([^|]*)')
      for index = firstBudget, #ARGV, 3 do
        if at == ARGV[index] then place = at end
      end
      local budgets, named = {}, {}
      for index = firstBudget, #ARGV, 3 do
        if place == ARGV[index] then
          local budget = {ARGV[index + 1], ARGV[index + 2]}
          budgets[#budgets + 1] = budget
          if at == place and only == budget[1] then named[1] = budget end
        end
      end
      if #named > 0 then return place, named, lineName(place, only, urgency) end
      return place, budgets, lineName(place, '', urgency)
    end

    local function textOf(budgets)
      local texts = {}
      for _, budget in ipairs(budgets) do texts[#texts + 1] = budget[1] .. ' ' .. budget[2] end
      return table.concat(texts, ' ')
    end

    -- A job in the line has a copy at the broker, which comes back when the wait should long be over. The sweep comes
    -- after that.
    local function waitInLine(line, millis)
      local wait = expectedWait(prefix, line)
      redis.call('ZADD', openKey, millis + sweepAfter + \(JobCopy.latestReturn("wait")), member)
      return {'line', wait, copy}
    end

    local known = redis.call('HMGET', synchronizationKey, 'status', 'transaction', 'customer', 'crashes', 'held',
      'recordVersion', 'deliveries', 'line', 'copy', 'joined', 'run')
    local refusal = newer(synchronizationKey, known[6])
    if refusal then return refusal end
    local status = known[1]
    if status and (known[2] ~= transaction or known[3] ~= customer) then
      if redis.call('GET', claimKey) == claim then redis.call('DEL', claimKey) end
      return {'foreign'}
    end
    if status == 'finalized' then return {'finalized'} end
    if status and isCopy == '1' and known[9] ~= copy then return {'superseded'} end
    -- A message without a number may be an older worker's, and the only one.
    if tonumber(run) > 0 and tonumber(run) < tonumber(known[11] or 0) then return {'superseded'} end
    if status and tonumber(run) > tonumber(known[11] or 0) then redis.call('HSET', synchronizationKey, 'run', run) end
    local millis, micros = clock()
    local kept = redis.call('MGET', transactionKey, claimKey)
    refusal = newerText(transactionKey, kept[1]) or newerText(claimKey, kept[2])
    if refusal then return refusal end
    local _, untilWhen, freshUntil, _, _, route = readRecord(kept[1])
    if tonumber(untilWhen) > millis then return {'busy', untilWhen - millis} end
    restore(status, kept[2])
    local deliveries = (known[7] or 0) + isDelivered
    local crashes = tonumber(known[4] or 0)
    if (wasRedelivered == '1' or isCopy == '1') and known[5] then crashes = crashes + 1 end
    local place, endpoint = '', ''
    if tonumber(freshUntil) <= millis and #ARGV >= firstBudget then
      local budgets, line, wait
      place, budgets, line = firstPlace(route)
      if mayCall == '0' or known[8] == line or redis.call('EXISTS', prefix .. 'line:' .. line) == 1 then
        wait = 1
      else
        endpoint, wait = grantInLane(urgency, prefix, budgetsKey, place, budgets, micros)
      end
      if wait > 0 then
        -- Also a job that is in the line by its record: the line may have lost it.
        joinLine(linesKey, prefix, line, textOf(budgets),
          {publisher = publisher, customer = party, member = member, age = age}, millis + wait)
        redis.call('HSET', synchronizationKey, 'line', line, 'copy', copy, 'attempt', attempt, 'crashes', crashes,
          'joined', known[10] or millis, 'deliveries', deliveries)
        redis.call('HDEL', synchronizationKey, 'held')
        return waitInLine(line, millis)
      end
    end
    if known[8] then redis.call('HDEL', synchronizationKey, 'line', 'joined') end
    -- A message that runs and is no copy takes the place of every copy.
    if known[9] and isCopy == '0' then redis.call('HDEL', synchronizationKey, 'copy') end
    redis.call('ZADD', openKey, millis + sweepAfter, member)
    return giveLease(transactionKey, synchronizationKey, kept[1], micros, crashes, duration, place, endpoint,
      deliveries, 1)
    """)

  fileprivate static let forgetCopy = RedisScript(
    "forget copy", keys: ["synchronizationKey"], arguments: ["copy"],
    """
    if redis.call('HGET', synchronizationKey, 'copy') ~= copy then return 0 end
    return redis.call('HDEL', synchronizationKey, 'copy')
    """)

  fileprivate static let renewLeases = RedisScript(
    "renew leases", functions: [.clock], keys: [], moreKeys: "firstRecord",
    arguments: ["duration", "sweepAfter"], moreArguments: "firstLease",
    """
    local millis = clock()
    local renewed = {}
    for number = 0, (#KEYS - firstRecord + 1) / 2 - 1 do
      local key, openKey = KEYS[firstRecord + 2 * number], KEYS[firstRecord + 2 * number + 1]
      local fence, member = ARGV[firstLease + 2 * number], ARGV[firstLease + 2 * number + 1]
      local kept = redis.call('GET', key)
      local last, untilWhen, rest
      if kept then last, untilWhen, rest = string.match(kept, '^(%d+)\\031(%d+)(.*)$') end
      if last == fence and tonumber(untilWhen) > millis then
        redis.call('SET', key, fence .. '\\031' .. millis + duration .. rest)
        redis.call('ZADD', openKey, 'XX', millis + sweepAfter, member)
        renewed[number + 1] = 1
      else
        renewed[number + 1] = 0
      end
    end
    return renewed
    """)

  fileprivate static let release = RedisScript(
    "release", functions: [.clock, .newer, .readRecord, .writeRecord],
    keys: ["transactionKey", "synchronizationKey", "openKey"],
    arguments: ["fence", "newStatus", "member", "sweepAfter", "newRoute", "recordLasts", "isRun", "cause"],
    """
    local kept = redis.call('GET', transactionKey)
    local state = redis.call('HMGET', synchronizationKey, 'status', 'recordVersion')
    local refusal = newerText(transactionKey, kept) or newer(synchronizationKey, state[2])
    if refusal then return refusal end
    local last, _, freshUntil, original, environment, route = readRecord(kept)
    if last ~= fence then return 0 end
    if newRoute ~= '' then route = newRoute end
    redis.call('SET', transactionKey, writeRecord(fence, '0', freshUntil, original, environment, route), 'PX',
      recordLasts)
    local status = state[1]
    if not status or status == 'finalized' then return 0 end
    redis.call('HDEL', synchronizationKey, 'held')
    if isRun == '1' then redis.call('HDEL', synchronizationKey, 'crashes') end
    if newStatus ~= '' then redis.call('HSET', synchronizationKey, 'status', newStatus, 'cause', cause) end
    redis.call('ZADD', openKey, clock() + sweepAfter, member)
    return 1
    """)
}

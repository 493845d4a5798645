public import Domain
import EventLoop
import Redis

/// A worker's right to run a synchronization now.
public struct Lease: Sendable, Equatable {
  /// Grows with every lease of the transaction, even after Redis has lost everything.
  public let fence: Int64
  /// What is known of the transaction, a `Route` as its text.
  public let route: String?
  /// When it was taken by Redis' clock, in milliseconds since 1970.
  public let takenAt: Int64?
  /// How many runs of the synchronization before this one, in a row, seem to have ended by a crash: they neither finalized
  /// it nor gave it back, and their delivery was not acknowledged.
  public let crashes: Int
  /// The first call that the run may make.
  public let call: CallGrant?
  /// What a verified answer of a moment ago came to: no call is needed.
  public let covered: Outcome?

  /// Creates a lease.
  public init(
    fence: Int64, route: String?, takenAt: Int64? = nil, crashes: Int = 0, call: CallGrant? = nil,
    covered: Outcome? = nil
  ) {
    self.fence = fence
    self.route = route
    self.takenAt = takenAt
    self.crashes = crashes
    self.call = call
    self.covered = covered
  }
}

/// What became of the attempt to take a lease.
public indirect enum LeaseAnswer: Sendable, Equatable {
  case taken(Lease)
  /// Another run has the lease for this long at most.
  case busy(Duration)
  /// Apple may not be asked before this long.
  case wait(Duration)
  /// Nothing is left to do but to tell.
  case finalized(Synchronization)
  /// The job's synchronizationId has become that of another registration; nobody was promised anything for this one.
  case foreign
}

extension PurchaseStore {
  /// Takes the lease on the job's transaction, with a new fencing number.
  ///
  /// The number is the greater of the last one plus one and Redis' clock in microseconds, so it grows even when Redis
  /// was wiped (decision 0004). A Redis that has lost the synchronization gets it back from the job.
  ///
  /// The first call to Apple is taken out of its budget in the same step: a run that may not call is not begun.
  ///
  /// - Parameters:
  ///   - wasRedelivered: whether a delivery of the job ended without an acknowledgement: only then a run that did not end
  ///     counts as a crash. One whose worker lives, but could not reach Redis, has put its job back by itself.
  ///   - places: where Apple may be asked, the first choice first; a known route goes before it. Empty asks nobody.
  ///   - endpoints: those that can answer, the preferred one first.
  public func takeLease(
    _ job: Job, for duration: Duration, sweepAfter: Duration, wasRedelivered: Bool = false, places: [CallPlace] = [],
    endpoints: [String] = []
  ) async throws -> LeaseAnswer {
    let call = taking(job, duration, sweepAfter, wasRedelivered, places, endpoints)
    return try read(try await redis.run(.takeLease, call), of: job)
  }

  @inline(never)
  private func taking(
    _ job: Job, _ duration: Duration, _ sweepAfter: Duration, _ wasRedelivered: Bool, _ places: [CallPlace],
    _ endpoints: [String]
  ) -> RedisScript.Call {
    let (publisher, transaction) = (job.publisherId, job.transactionId)
    return RedisScript.Call(
      keys: [
        keys.transaction(publisher, transaction), keys.synchronization(publisher, job.synchronizationId),
        keys.claim(publisher, transaction), keys.open, keys.budgets,
      ],
      arguments: [
        String(duration.wholeMilliseconds), job.claim.encoded, keys.member(publisher, job.synchronizationId),
        String(sweepAfter.wholeMilliseconds), String(job.customerId), transaction, encoded(job),
        job.traceparent ?? "", wasRedelivered ? "1" : "0", String(endpoints.count),
      ] + endpoints + places.flatMap { [$0.name, String($0.perSecond)] })
  }

  @inline(never)
  private func read(_ value: RESPValue, of job: Job) throws -> LeaseAnswer {
    let reply = value.array ?? []
    switch reply.first?.string {
    case "taken":
      guard let fence = reply[1].integer else { throw unexpected(reply, "take lease") }
      return .taken(
        Lease(
          fence: fence, route: reply[2].string.flatMap { $0.isEmpty ? nil : $0 },
          takenAt: reply.count > 3 ? reply[3].integer : nil,
          crashes: reply.count > 4 ? Int(clamping: reply[4].integer ?? 0) : 0, call: call(reply),
          covered: covered(reply)))
    case "wait": return .wait(.milliseconds(max(1, reply[1].integer ?? 1000)))
    case "busy": return .busy(.milliseconds(max(1, reply[1].integer ?? 1000)))
    case "finalized":
      guard
        let done = Synchronization(publisher: job.publisherId, id: job.synchronizationId, fields: reply[1].hash)
      else { throw unexpected(reply, "take lease") }
      return .finalized(done)
    case "foreign": return .foreign
    default: throw unexpected(reply, "take lease")
    }
  }

  private func call(_ reply: [RESPValue]) -> CallGrant? {
    guard reply.count > 6, let place = reply[5].string, let endpoint = reply[6].string, !endpoint.isEmpty else {
      return nil
    }
    return CallGrant(place: place, endpoint: endpoint)
  }

  private func covered(_ reply: [RESPValue]) -> Outcome? {
    guard reply.count > 9, let offer = reply[7].string, let original = reply[8].string,
      let environment = reply[9].string
    else { return nil }
    return Outcome(
      .purchaseSynchronized, accessGranted: true, offerId: offer, originalTransactionId: original,
      environment: environment)
  }

  /// Makes leases last longer, and keeps the sweep away from what is running.
  ///
  /// - Returns: false for one that has ended, or a later one was given to somebody else. The run may still finalize: the
  ///   fencing number decides.
  public func renewLeases(
    _ held: [(job: Job, lease: Lease)], for duration: Duration, sweepAfter: Duration
  ) async throws -> [Bool] {
    let reply =
      try await redis.run(
        .renewLeases,
        keys: [keys.open] + held.map { keys.transaction($0.job.publisherId, $0.job.transactionId) },
        arguments: [String(duration.wholeMilliseconds), String(sweepAfter.wholeMilliseconds)]
          + held.flatMap { [String($0.lease.fence), keys.member($0.job.publisherId, $0.job.synchronizationId)] }
      ).array ?? []
    guard reply.count == held.count else { throw unexpected(reply, "renew leases") }
    return reply.map { $0.integer == 1 }
  }

  /// Gives the lease back because the job goes to a delay tier; the status becomes `retrying` when it is a failure.
  ///
  /// - Parameters:
  ///   - sweepAfter: when the sweep may look at the synchronization; must be longer than the delay.
  ///   - route: what the next run is to go by; `nil` leaves what is there.
  ///   - isRun: whether the job was run; what is set aside before keeps its count of crashes.
  public func release(
    _ job: Job, _ lease: Lease, isRetrying: Bool, sweepAfter: Duration, route: String?, isRun: Bool = true
  ) async throws {
    let (publisher, transaction) = (job.publisherId, job.transactionId)
    _ = try await redis.run(
      .release,
      keys: [
        keys.transaction(publisher, transaction), keys.synchronization(publisher, job.synchronizationId), keys.open,
      ],
      arguments: [
        String(lease.fence), isRetrying ? "retrying" : "", keys.member(publisher, job.synchronizationId),
        String(sweepAfter.wholeMilliseconds), route ?? "", String(Self.routeRetention.wholeMilliseconds),
        isRun ? "1" : "0",
      ])
  }

  static let routeRetention: Duration = .seconds(30 * 86_400)
}

extension RedisScript {
  fileprivate static let takeLease = RedisScript(
    "take lease",
    grantFunction + """
      local known = redis.call('HMGET', KEYS[2], 'status', 'transaction', 'customer', 'crashes', 'held')
      local status = known[1]
      if status and (known[2] ~= ARGV[6] or known[3] ~= ARGV[5]) then
        if redis.call('GET', KEYS[3]) == ARGV[2] then redis.call('DEL', KEYS[3]) end
        return {'foreign'}
      end
      if status == 'finalized' then return {'finalized', redis.call('HGETALL', KEYS[2])} end
      local now = redis.call('TIME')
      local micros = now[1] * 1000000 + now[2]
      local millis = math.floor(micros / 1000)
      local kept = redis.call('MGET', KEYS[1], KEYS[3])
      local last, untilWhen, freshUntil, offer, original, environment, route = '0', '0', '0', '', '', '', ''
      if kept[1] then
        last, untilWhen, freshUntil, offer, original, environment, route = string.match(kept[1],
          \(TransactionRecord.pattern))
      end
      if tonumber(untilWhen) > millis then return {'busy', untilWhen - millis} end
      local isFresh = tonumber(freshUntil) > millis
      if not isFresh then freshUntil, offer, original, environment = '0', '', '', '' end
      if not status then
        redis.call('HSET', KEYS[2], 'transaction', ARGV[6], 'customer', ARGV[5], 'status', 'processing', 'job', ARGV[7],
          'traceparent', ARGV[8])
      end
      local holder = kept[2]
      if not holder then
        redis.call('SET', KEYS[3], ARGV[2])
      elseif holder == ARGV[2] then
        redis.call('PERSIST', KEYS[3])
      end
      local due = millis + ARGV[4]
      local place, endpoint, wait = '', '', 0
      local first = 11 + ARGV[10]
      if not isFresh and #ARGV >= first then
        local rate
        place, rate = ARGV[first], ARGV[first + 1]
        local at, only = string.match(route, '^([^|]*|[^|]*)|?([^|]*)')
        for index = first, #ARGV, 2 do
          if at == ARGV[index] then place, rate = ARGV[index], ARGV[index + 1] end
        end
        local endpoints, any = {}, {}
        for index = 11, first - 1 do
          any[#any + 1] = ARGV[index]
          if at == place and only == ARGV[index] then endpoints = {only} end
        end
        if #endpoints == 0 then endpoints = any end
        endpoint, wait = grant(KEYS[5], place, rate, endpoints, micros)
        if endpoint == '' then
          redis.call('ZADD', KEYS[4], due + wait, ARGV[3])
          return {'wait', wait}
        end
      end
      local time = now[1] .. string.sub('00000' .. now[2], -6)
      local fence = time
      if tonumber(last) >= micros then fence = string.format('%.0f', last + 1) end
      redis.call('SET', KEYS[1], table.concat({fence, millis + ARGV[1], freshUntil, offer, original, environment, route},
        '\\031'))
      local crashes = tonumber(known[4] or 0)
      if ARGV[9] == '1' and known[5] then crashes = crashes + 1 end
      redis.call('HSET', KEYS[2], 'fence', fence, 'held', 1, 'crashes', crashes)
      redis.call('ZADD', KEYS[4], due, ARGV[3])
      local answer = {'taken', fence, route, string.sub(time, 1, -4), crashes, place, endpoint}
      if isFresh then answer[8], answer[9], answer[10] = offer, original, environment end
      return answer
      """)

  fileprivate static let renewLeases = RedisScript(
    "renew leases",
    """
    local now = redis.call('TIME')
    local millis = now[1] * 1000 + math.floor(now[2] / 1000)
    local due = millis + ARGV[2]
    local renewed = {}
    for index = 2, #KEYS do
      local fence, member = ARGV[2 * index - 1], ARGV[2 * index]
      local kept = redis.call('GET', KEYS[index])
      local last, untilWhen, rest
      if kept then last, untilWhen, rest = string.match(kept, '^(%d+)\\031(%d+)(.*)$') end
      if last == fence and tonumber(untilWhen) > millis then
        redis.call('SET', KEYS[index], fence .. '\\031' .. millis + ARGV[1] .. rest)
        redis.call('ZADD', KEYS[1], 'XX', due, member)
        renewed[index - 1] = 1
      else
        renewed[index - 1] = 0
      end
    end
    return renewed
    """)

  fileprivate static let release = RedisScript(
    "release",
    """
    local kept = redis.call('GET', KEYS[1])
    if not kept then return 0 end
    local fence, _, freshUntil, offer, original, environment, route = string.match(kept, \(TransactionRecord.pattern))
    if fence ~= ARGV[1] then return 0 end
    if ARGV[5] ~= '' then route = ARGV[5] end
    redis.call('SET', KEYS[1], table.concat({fence, '0', freshUntil, offer, original, environment, route}, '\\031'),
      'PX', ARGV[6])
    local status = redis.call('HGET', KEYS[2], 'status')
    if not status or status == 'finalized' then return 0 end
    redis.call('HDEL', KEYS[2], 'held')
    if ARGV[7] == '1' then redis.call('HDEL', KEYS[2], 'crashes') end
    if ARGV[2] ~= '' then redis.call('HSET', KEYS[2], 'status', ARGV[2]) end
    local now = redis.call('TIME')
    redis.call('ZADD', KEYS[3], now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[4], ARGV[3])
    return 1
    """)
}

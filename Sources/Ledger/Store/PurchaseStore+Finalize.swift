public import Domain
import EventLoop
import Redis

/// What became of the attempt to finalize.
public indirect enum FinalizeAnswer: Sendable, Equatable {
  /// The synchronization is finalized, by us or, in an earlier run, with the same claim; its event must be published.
  case finalized(Synchronization)
  /// A later lease was given out; what we found must not take effect.
  case stale
}

extension PurchaseStore {
  /// Finalizes a synchronization in one step: fencing number, ownership, status, claim, lease.
  ///
  /// The fencing number is compared with the last one given out, so of two runs of one transaction at most one takes
  /// effect. A purchase that gives access goes to the first customer who registers it; for any other the result
  /// becomes `PURCHASE_OWNED_BY_ANOTHER_CUSTOMER`.
  ///
  /// The synchronization stays among the open ones until its event is published, ``told(_:)``: a broker that is wiped in
  /// between has lost the job, and the sweep brings it back. Who took the lease has put the sweep's look off far enough.
  ///
  /// - Parameters:
  ///   - retention: how long the status can be read from now on.
  ///   - sweepAfter: when the sweep may look whether the event was published, where Redis has lost the synchronization.
  ///   - reuse: how long the next registrations of the transaction need no call to Apple when this one gives access; zero
  ///     for an outcome that was itself reused.
  public func finalize(
    _ job: Job, _ lease: Lease, _ outcome: Outcome, retention: Duration, sweepAfter: Duration, route: String?,
    reuse: Duration = .zero
  ) async throws -> FinalizeAnswer {
    let call = finalization(job, lease, outcome, retention, sweepAfter, route, reuse)
    return try read(try await redis.run(.finalize, call), of: job, lease, outcome)
  }

  // Functions of their own, as the strings of a script's call would otherwise be memory of every run that waits for its reply.

  @inline(never)
  private func finalization(
    _ job: Job, _ lease: Lease, _ outcome: Outcome, _ retention: Duration, _ sweepAfter: Duration, _ route: String?,
    _ reuse: Duration
  ) -> RedisScript.Call {
    let (publisher, transaction) = (job.publisherId, job.transactionId)
    var owner = ""
    if outcome.accessGranted, let original = outcome.originalTransactionId, let environment = outcome.environment {
      owner = keys.owner(publisher, environment, original)
    }
    return RedisScript.Call(
      keys: [
        keys.transaction(publisher, transaction), keys.synchronization(publisher, job.synchronizationId),
        keys.claim(publisher, transaction), keys.open,
      ] + (owner.isEmpty ? [] : [owner]),
      arguments: [
        String(lease.fence), job.claim.encoded, keys.member(publisher, job.synchronizationId),
        String(retention.wholeMilliseconds), String(job.customerId), transaction, outcome.result.rawValue,
        outcome.accessGranted ? "1" : "0", outcome.offerId ?? "", outcome.originalTransactionId ?? "",
        outcome.environment ?? "", job.traceparent ?? "", route ?? "",
        String(Self.routeRetention.wholeMilliseconds),
        SynchronizationResult.purchaseOwnedByAnotherCustomer.rawValue, encoded(job),
        String(sweepAfter.wholeMilliseconds), TransactionRecord.holds(outcome) ? String(reuse.wholeMilliseconds) : "0",
      ])
  }

  @inline(never)
  private func read(
    _ value: RESPValue, of job: Job, _ lease: Lease, _ outcome: Outcome
  ) throws -> FinalizeAnswer {
    let reply = value.array ?? []
    switch reply.first?.string {
    case "stale": return .stale
    case "ours":
      guard reply.count == 5, let result = reply[1].string, let time = reply[4].integer else {
        throw unexpected(reply, "finalize")
      }
      var outcome = outcome
      outcome.result = SynchronizationResult(rawValue: result)
      outcome.accessGranted = reply[2].string == "1"
      outcome.offerId = reply[3].string.flatMap { $0.isEmpty ? nil : $0 }
      return .finalized(
        Synchronization(
          id: job.synchronizationId, publisherId: job.publisherId, customerId: job.customerId,
          transactionId: job.transactionId, status: .finalized,
          conclusion: Conclusion(
            outcome: outcome, version: lease.fence, finalizedAt: time, traceparent: job.traceparent)))
    case "finalized":
      guard
        let done = Synchronization(publisher: job.publisherId, id: job.synchronizationId, fields: reply[1].hash)
      else { throw unexpected(reply, "finalize") }
      return .finalized(done)
    default: throw unexpected(reply, "finalize")
    }
  }
}

extension PurchaseStore {
  /// Takes a finalized synchronization, whose event the broker has confirmed, off the open ones.
  public func told(_ job: Job) async throws {
    try await told.add(
      keys.synchronization(job.publisherId, job.synchronizationId),
      keys.member(job.publisherId, job.synchronizationId))
  }
}

extension RedisScript {
  fileprivate static let finalize = RedisScript(
    "finalize",
    """
    local known = redis.call('HMGET', KEYS[2], 'status', 'transaction', 'customer')
    if known[1] and (known[2] ~= ARGV[6] or known[3] ~= ARGV[5]) then return {'stale'} end
    if known[1] == 'finalized' then
      return {'finalized', redis.call('HGETALL', KEYS[2])}
    end
    local kept = redis.call('MGET', KEYS[1], KEYS[3], KEYS[5] or KEYS[1])
    local claim, owner = kept[2], kept[3]
    local last, _, freshUntil, freshOffer, freshOriginal, freshEnvironment, route = ARGV[1], '0', '0', '', '', '', ''
    if kept[1] then
      last, _, freshUntil, freshOffer, freshOriginal, freshEnvironment, route = string.match(kept[1],
        \(TransactionRecord.pattern))
    end
    if last ~= ARGV[1] then return {'stale'} end
    local result, granted, offer = ARGV[7], ARGV[8], ARGV[9]
    local now = redis.call('TIME')
    local time = now[1] .. string.sub('00000' .. now[2], -6, -4)
    if granted == '1' and ARGV[18] ~= '0' then
      freshUntil, freshOffer, freshOriginal, freshEnvironment = time + ARGV[18], offer, ARGV[10], ARGV[11]
    end
    if ARGV[13] ~= '' then route = ARGV[13] end
    if KEYS[5] then
      if not owner then
        redis.call('SET', KEYS[5], ARGV[5])
      elseif owner ~= ARGV[5] then
        result, granted, offer = ARGV[15], '0', ''
      end
    end
    redis.call('HSET', KEYS[2], 'status', 'finalized', 'result', result, 'granted', granted, 'offer', offer, 'original',
      ARGV[10], 'environment', ARGV[11], 'version', ARGV[1], 'finalizedAt', time)
    if not known[1] then
      redis.call('HSET', KEYS[2], 'transaction', ARGV[6], 'customer', ARGV[5], 'traceparent', ARGV[12], 'job', ARGV[16])
      redis.call('ZADD', KEYS[4], time + ARGV[17], ARGV[3])
    end
    redis.call('PEXPIRE', KEYS[2], ARGV[4])
    redis.call('SET', KEYS[1], table.concat({ARGV[1], '0', freshUntil, freshOffer, freshOriginal, freshEnvironment,
      route}, '\\031'), 'PX', ARGV[14])
    if claim == ARGV[2] then redis.call('DEL', KEYS[3]) end
    return {'ours', result, granted, offer, time}
    """)
}

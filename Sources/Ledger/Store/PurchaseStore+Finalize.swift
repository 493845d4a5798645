public import Domain
import EventLoop
import Redis

/// The answer to an attempt to finalize.
public indirect enum FinalizeAnswer: Sendable, Equatable {
  /// The synchronization is finalized, by us or, in an earlier run, with the same claim. The worker must publish its
  /// event.
  case finalized(Synchronization)
  /// Redis has given out a later lease. Our finding must not take effect.
  case stale
}

extension PurchaseStore {
  /// Finalizes a synchronization in one step: fencing number, ownership, status, claim, lease.
  ///
  /// The script compares the fencing number with the last one given out. So of two runs of one transaction at most one
  /// takes effect. A purchase that gives access goes to the first customer who registers it. For any other customer
  /// the result becomes `PURCHASE_OWNED_BY_ANOTHER_CUSTOMER`.
  ///
  /// The synchronization stays among the open ones until a worker has published its event, ``told(_:)``. If somebody
  /// wipes the broker in between, the job is lost, and the sweep brings it back. The worker that took the lease has
  /// delayed the sweep's next look long enough.
  ///
  /// - Parameters:
  ///   - retention: how long the status can be read from now on.
  ///   - sweepAfter: when the sweep may look whether a worker has published the event, if Redis has lost the
  ///     synchronization.
  ///   - reuse: how long the next registrations of the transaction need no call to Apple when this one gives access;
  ///     zero for an outcome that was itself reused.
  public func finalize(
    _ job: Job, _ lease: Lease, _ outcome: Outcome, retention: Duration, sweepAfter: Duration, route: String?,
    reuse: Duration = .zero
  ) async throws -> FinalizeAnswer {
    let call = finalization(job, lease, outcome, retention, sweepAfter, route, reuse)
    return try read(try await redis.run(call), of: job, lease, outcome)
  }

  // These are functions of their own. Otherwise each run that waits for its reply would keep the strings of the
  // script's call in memory.

  private func finalization(
    _ job: Job, _ lease: Lease, _ outcome: Outcome, _ retention: Duration, _ sweepAfter: Duration, _ route: String?,
    _ reuse: Duration
  ) -> RedisScript.Call {
    let (publisher, transaction) = (job.publisherId, job.transactionId)
    var owner = ""
    if outcome.accessGranted, let original = outcome.originalTransactionId, let environment = outcome.environment {
      owner = keys.owner(publisher, environment, original)
    }
    return RedisScript.finalize.call(
      keys: [
        "transactionKey": keys.transaction(publisher, transaction),
        "synchronizationKey": keys.synchronization(publisher, job.synchronizationId),
        "claimKey": keys.claim(publisher, transaction), "openKey": keys.open,
      ],
      moreKeys: owner.isEmpty ? [] : [owner],
      arguments: [
        "fence": String(lease.fence), "claim": job.claim.encoded,
        "member": keys.member(publisher, job.synchronizationId), "retention": String(retention.wholeMilliseconds),
        "customer": String(job.customerId), "transaction": transaction, "result": outcome.result.rawValue,
        "granted": outcome.accessGranted ? "1" : "0", "offer": outcome.offerId ?? "",
        "original": outcome.originalTransactionId ?? "", "environment": outcome.environment ?? "",
        "traceparent": job.traceparent ?? "", "route": route ?? "",
        "routeRetention": String(Self.routeRetention.wholeMilliseconds),
        "refusal": SynchronizationResult.purchaseOwnedByAnotherCustomer.rawValue, "job": encoded(job),
        "sweepAfter": String(sweepAfter.wholeMilliseconds),
        "reuse": TransactionRecord.holds(outcome) ? String(reuse.wholeMilliseconds) : "0",
      ])
  }

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
  /// Takes a finalized synchronization off the open ones, after the broker has confirmed its event.
  public func told(_ job: Job) async throws {
    try await told.add(
      keys.synchronization(job.publisherId, job.synchronizationId),
      keys.member(job.publisherId, job.synchronizationId))
  }
}

extension RedisScript {
  fileprivate static let finalize = RedisScript(
    "finalize", functions: [.newer, .readRecord, .writeRecord],
    keys: ["transactionKey", "synchronizationKey", "claimKey", "openKey"], moreKeys: "ownerIndex",
    arguments: [
      "fence", "claim", "member", "retention", "customer", "transaction", "result", "granted", "offer", "original",
      "environment", "traceparent", "route", "routeRetention", "refusal", "job", "sweepAfter", "reuse",
    ],
    """
    -- An outcome that gives access names the key of its purchase's owner.
    local ownerKey = KEYS[ownerIndex]
    local function own(owner)
      if not owner then
        redis.call('SET', ownerKey, customer)
      elseif owner ~= customer then
        result, granted, offer = refusal, '0', ''
      end
    end

    local known = redis.call('HMGET', synchronizationKey, 'status', 'transaction', 'customer', 'recordVersion')
    local newerRecord = newer(synchronizationKey, known[4])
    if newerRecord then return newerRecord end
    if known[1] and (known[2] ~= transaction or known[3] ~= customer) then return {'stale'} end
    if known[1] == 'finalized' then return {'finalized', redis.call('HGETALL', synchronizationKey)} end
    local kept = redis.call('MGET', transactionKey, claimKey, ownerKey or transactionKey)
    newerRecord = newerText(transactionKey, kept[1]) or newerText(claimKey, kept[2])
      or newerText(ownerKey or transactionKey, kept[3])
    if newerRecord then return newerRecord end
    local last, _, freshUntil, freshOffer, freshOriginal, freshEnvironment, lastRoute = readRecord(kept[1])
    if kept[1] and last ~= fence then return {'stale'} end
    local now = redis.call('TIME')
    local time = now[1] .. string.sub('00000' .. now[2], -6, -4)
    if granted == '1' and reuse ~= '0' then
      freshUntil, freshOffer, freshOriginal, freshEnvironment = time + reuse, offer, original, environment
    end
    if route == '' then route = lastRoute end
    if ownerKey then own(kept[3]) end
    redis.call('HSET', synchronizationKey, 'status', 'finalized', 'result', result, 'granted', granted, 'offer', offer,
      'original', original, 'environment', environment, 'version', fence, 'finalizedAt', time)
    if not known[1] then
      redis.call('HSET', synchronizationKey, 'transaction', transaction, 'customer', customer, 'traceparent',
        traceparent, 'job', job)
      redis.call('ZADD', openKey, time + sweepAfter, member)
    end
    redis.call('PEXPIRE', synchronizationKey, retention)
    redis.call('SET', transactionKey,
      writeRecord(fence, '0', freshUntil, freshOffer, freshOriginal, freshEnvironment, route), 'PX', routeRetention)
    if kept[2] == claim then redis.call('DEL', claimKey) end
    return {'ours', result, granted, offer, time}
    """)
}

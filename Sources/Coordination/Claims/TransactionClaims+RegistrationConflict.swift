public import Domain
import EventLoop
import Redis

extension TransactionClaims {
  /// Claims the job's transactionId and records the synchronization as processing and open, in one step.
  ///
  /// This script decides that a registration gets a 409: somebody else holds the transactionId, or the same
  /// registration runs already. The gateway then takes over from a holder that the ledger has finalized. An id of a
  /// synchronization that names another registration is a mistake in the request: a 400.
  ///
  /// - Parameters:
  ///   - checksCustomer: whether a customer without a copy in Redis is refused. Only the ledger knows whether the
  ///     publisher has put such a customer.
  ///   - mustBeKnown: whether a synchronization that Redis does not know is refused: the ledger may know it, and could
  ///     not be asked.
  ///   - isShared: whether the synchronization is recorded even while another one holds the transactionId. It runs
  ///     after that one. One a second is recorded so; the others are held.
  ///   - limits: those of the publisher and its customers. The rates count what is claimed.
  ///   - sweepAfter: when the sweep may look at the synchronization.
  public func take(
    _ job: Job, checksCustomer: Bool, mustBeKnown: Bool = false, isShared: Bool = false,
    limits: RegistrationLimits = .none, sweepAfter: Duration
  ) async throws -> ClaimAnswer {
    let reply =
      try await redis.run(
        .claim,
        keys: [
          "claimKey": keys.claim(job.publisherId, job.transactionId),
          "synchronizationKey": keys.synchronization(job.publisherId, job.synchronizationId),
          "openKey": keys.open(job.lane), "sharedKey": keys.shared(job.publisherId, job.transactionId),
          "customerKey": keys.customer(job.publisherId, job.customerId), "limitsKey": keys.limits,
          "customerOpenKey": keys.open(job.publisherId, job.customerId),
          "customerRateKey": keys.rate(job.publisherId, job.customerId),
        ],
        arguments: [
          "prefix": keys.prefix, "claim": job.claim.encoded,
          "duration": String(Self.unconfirmedClaim.wholeMilliseconds),
          "checksCustomer": checksCustomer ? "1" : "0",
          "member": keys.member(job.publisherId, job.synchronizationId),
          "sweepAfter": String(sweepAfter.wholeMilliseconds), "customer": job.customerId.text,
          "transaction": job.transactionId.text, "job": job.text, "traceparent": job.traceparent ?? "",
          "kind": job.kind.rawValue, "mustBeKnown": mustBeKnown ? "1" : "0", "isShared": isShared ? "1" : "0",
          "publisher": String(job.publisherId), "countsForCustomer": job.countsForCustomer ? "1" : "0",
          "part": String(job.partOfLimits), "takesOver": job.lane == .usual ? "1" : "0",
          "rate": String(max(1, limits.perSecond)),
          "customerRate": job.isByCustomer ? String(max(1, limits.perSecondOfCustomer)) : "0",
          "mostOfCustomer": String(limits.openOfCustomer), "mostOfPublisher": String(limits.openOfPublisher),
        ]
      ).array ?? []
    switch reply.first?.string {
    case "unknown id": return .unknownId
    case "claimed": return .claimed
    case "held": return .held(by: reply[at: 1].string.flatMap(Claim.init) ?? job.claim)
    case "customer": return .unknownCustomer
    case "replayed": return .replayed
    case "in use": return .idInUse
    case "limit":
      guard let limit = reply[at: 1].string.flatMap(Limit.init), let wait = reply[at: 2].wait() else {
        throw RedisError.unexpected(reply, "claim")
      }
      return .limited(limit, wait)
    default: throw RedisError.unexpected(reply, "claim")
    }
  }
}

extension RedisScript {
  fileprivate static let claim = RedisScript(
    "claim", functions: [.clock, .newer, .pace, .rates, .exceededCount, .openCounts],
    keys: [
      "claimKey", "synchronizationKey", "openKey", "sharedKey", "customerKey", "limitsKey", "customerOpenKey",
      "customerRateKey",
    ],
    arguments: [
      "prefix", "claim", "duration", "checksCustomer", "member", "sweepAfter", "customer", "transaction", "job",
      "traceparent", "kind", "mustBeKnown", "isShared", "publisher", "countsForCustomer", "part", "takesOver", "rate",
      "customerRate", "mostOfCustomer", "mostOfPublisher",
    ],
    """
    local known = redis.call('HMGET', synchronizationKey, 'transaction', 'customer', 'status', 'recordVersion', 'kind')
    local refusal = newer(synchronizationKey, known[4])
    if refusal then return refusal end
    if known[1] then
      if known[1] ~= transaction or known[2] ~= customer or known[5] ~= kind then return {'in use'} end
      if known[3] == 'finalized' then return {'replayed'} end
      -- The client takes this answer for settled: the first request must not take its claim back any more.
      redis.call('HSET', synchronizationKey, 'repeated', 1)
      return {'held', claim}
    end
    if mustBeKnown == '1' then return {'unknown id'} end
    if checksCustomer == '1' then
      local copy = redis.call('GET', customerKey)
      -- The key has the customer's id, which no log may have.
      refusal = newerText('the copy of a customer', copy)
      if refusal then return refusal end
      if copy ~= '\(CustomerCopies.registered)' then return {'customer'} end
    end
    local millis, micros = clock()
    local holder = redis.call('GET', claimKey)
    refusal = newerText(claimKey, holder)
    if refusal then return refusal end
    local openField, rateField = 'open:' .. publisher, 'rate:' .. publisher
    local counts = redis.call('HMGET', limitsKey, openField, rateField)
    local wait, used = exceededRate(counts[2], rate, part * 1000000, micros)
    if wait > 0 then return {'limit', '\(Limit.publisherRate.rawValue)', wait} end
    local usedByCustomer
    if tonumber(customerRate) > 0 then
      wait, usedByCustomer = exceededRate(redis.call('GET', customerRateKey), customerRate, 10000000, micros)
      if wait > 0 then return {'limit', '\(Limit.customerRate.rawValue)', wait} end
    end
    -- Bulk may hold a transaction for hours. Somebody who waits for it takes the claim over: the job in bulk needs
    -- none, and the lease still lets one run at a time.
    if holder and takesOver == '1' and string.sub(holder, 1, 1) == '\(Claim.bulk)' then holder = false end
    if holder and isShared == '0' then return {'held', holder} end
    local limit, open = exceededCount(counts[1], countsForCustomer == '1' and customerOpenKey, prefix,
      math.max(1, math.floor(part * mostOfCustomer)), part * mostOfPublisher)
    if limit then return {'limit', limit, 2000} end
    if not holder then
      redis.call('SET', claimKey, claim, 'PX', duration)
    elseif not redis.call('SET', sharedKey, 1, 'NX', 'PX', 1000) then
      return {'held', holder}
    end
    redis.call('HSET', limitsKey, openField, open + 1, rateField, used)
    if usedByCustomer then noteRate(customerRateKey, usedByCustomer, micros) end
    noteOpenOfCustomer(customerOpenKey, countsForCustomer, member)
    redis.call('HSET', synchronizationKey, 'transaction', transaction, 'customer', customer, 'status', 'processing',
      'job', job, 'traceparent', traceparent, 'kind', kind)
    redis.call('ZADD', openKey, millis + sweepAfter, member)
    return {'claimed'}
    """)
}

public import Domain
public import EventLoop
public import Redis

/// The claims on transactionIds, in Redis: from the registration to the finalization of a synchronization.
///
/// Each change of state is one script, so it happens whole or not at all. Every method throws `RedisError`. After an
/// error the script may have run or not. Every script may run again.
@LoopActor
public final class TransactionClaims {
  let redis: RedisClient
  let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// How long a claim lasts while the broker has not confirmed its job.
  ///
  /// It is longer than a publish may take. So a gateway that dies in between leaves no transaction locked.
  static let unconfirmedClaim: Duration = .seconds(60)

  /// Makes the claim last until a worker finalizes the synchronization, however long the queue is.
  ///
  /// The claim may belong to another synchronization by now. For example, a fast worker has committed this one to the
  /// ledger, and the next registration has seen that before the worker could say so here. Or this one is in bulk, or
  /// shares its transaction. The registration holds in each of these cases: its record is open, so no job is lost, and
  /// the lease lets one job of a transaction run at a time.
  ///
  /// - Returns: whether the registration holds: Redis has its record.
  public func prolong(_ job: Job) async throws -> Bool {
    try await redis.run(
      .prolongClaim,
      keys: [
        "claimKey": keys.claim(job.publisherId, job.transactionId),
        "synchronizationKey": keys.synchronization(job.publisherId, job.synchronizationId),
      ],
      arguments: ["claim": job.claim.encoded]
    ).integer == 1
  }

  /// Takes back the effect of ``take(_:checksCustomer:mustBeKnown:isShared:sweepAfter:)``, unless a worker has begun
  /// already, or the gateway told a repetition of the registration that it runs. In these cases the synchronization
  /// stays open, so that the sweep enqueues it.
  ///
  /// - Returns: whether the effect was taken back.
  public func undo(_ job: Job) async throws -> Bool {
    try await redis.run(
      .undoClaim,
      keys: [
        "claimKey": keys.claim(job.publisherId, job.transactionId),
        "synchronizationKey": keys.synchronization(job.publisherId, job.synchronizationId),
        "openKey": keys.open(job.lane), "limitsKey": keys.limits,
        "customerOpenKey": keys.open(job.publisherId, job.customerId),
      ],
      arguments: [
        "claim": job.claim.encoded, "member": keys.member(job.publisherId, job.synchronizationId),
        "publisher": String(job.publisherId),
      ]
    ).integer == 1
  }

  /// Ends a claim whose synchronization is finalized: its worker died before it could.
  public func end(_ claim: Claim, _ publisher: PublisherId, transaction: TransactionId) async throws {
    _ = try await redis.run(
      .endClaim, keys: ["claimKey": keys.claim(publisher, transaction)], arguments: ["claim": claim.encoded])
  }
}

extension RedisScript {
  fileprivate static let endClaim = RedisScript(
    "end claim", keys: ["claimKey"], arguments: ["claim"],
    """
    return redis.call('GET', claimKey) == claim and redis.call('DEL', claimKey) or 0
    """)

  fileprivate static let prolongClaim = RedisScript(
    "prolong claim", functions: [.newer], keys: ["claimKey", "synchronizationKey"], arguments: ["claim"],
    """
    local state = redis.call('HMGET', synchronizationKey, 'status', 'recordVersion')
    local refusal = newer(synchronizationKey, state[2])
    if refusal then return refusal end
    if state[1] == 'finalized' then return 1 end
    local holder = redis.call('GET', claimKey)
    refusal = newerText(claimKey, holder)
    if refusal then return refusal end
    if holder == claim then redis.call('PERSIST', claimKey) end
    return state[1] and 1 or 0
    """)

  fileprivate static let undoClaim = RedisScript(
    "undo claim", functions: [.newer, .openCounts],
    keys: ["claimKey", "synchronizationKey", "openKey", "limitsKey", "customerOpenKey"],
    arguments: ["claim", "member", "publisher"],
    """
    local state = redis.call('HMGET', synchronizationKey, 'status', 'fence', 'recordVersion', 'repeated')
    local refusal = newer(synchronizationKey, state[3])
    if refusal then return refusal end
    if state[1] ~= 'processing' or state[2] or state[4] then return 0 end
    if redis.call('GET', claimKey) == claim then redis.call('DEL', claimKey) end
    redis.call('DEL', synchronizationKey)
    redis.call('ZREM', openKey, member)
    noteClosed(limitsKey, customerOpenKey, publisher, member)
    return 1
    """)
}

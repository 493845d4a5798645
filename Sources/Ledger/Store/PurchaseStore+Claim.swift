public import Domain
import EventLoop
import Redis

extension PurchaseStore {
  /// How long a claim lasts whose job has not been confirmed: longer than a publish may take, so that a gateway that
  /// dies in between leaves no transaction locked.
  static let unconfirmedClaim: Duration = .seconds(60)

  /// Claims the job's transactionId and records the synchronization as processing and open, in one step.
  ///
  /// The decision behind a 409 is made here, and only here.
  ///
  /// - Parameters:
  ///   - checksCustomer: whether the customer must be known.
  ///   - sweepAfter: when the sweep may look at the synchronization.
  public func claim(_ job: Job, checksCustomer: Bool, sweepAfter: Duration) async throws -> ClaimAnswer {
    let reply =
      try await redis.run(
        .claim,
        keys: [
          keys.claim(job.publisherId, job.transactionId),
          keys.synchronization(job.publisherId, job.synchronizationId),
          keys.open,
          keys.customer(job.publisherId, job.customerId),
        ],
        arguments: [
          job.claim.encoded, String(Self.unconfirmedClaim.wholeMilliseconds), checksCustomer ? "1" : "0",
          keys.member(job.publisherId, job.synchronizationId), String(sweepAfter.wholeMilliseconds),
          String(job.customerId), job.transactionId, encoded(job), job.traceparent ?? "",
        ]
      ).array ?? []
    switch reply.first?.string {
    case "claimed": return .claimed
    case "held": return .held(by: reply[1].string.flatMap(Claim.init) ?? job.claim)
    case "customer": return .unknownCustomer
    case "replayed": return .replayed
    case "in use": return .idInUse
    default: throw unexpected(reply, "claim")
    }
  }

  /// Makes the claim last until the synchronization is finalized, however long the queue is.
  ///
  /// - Returns: whether the registration holds: the claim is ours, or a fast worker has finalized by now.
  public func prolongClaim(_ job: Job) async throws -> Bool {
    return try await redis.run(
      .prolongClaim,
      keys: [
        keys.claim(job.publisherId, job.transactionId),
        keys.synchronization(job.publisherId, job.synchronizationId),
      ],
      arguments: [job.claim.encoded]
    ).integer == 1
  }

  /// Takes back what ``claim(_:checksCustomer:sweepAfter:)`` did, unless a worker has begun by now.
  public func undoClaim(_ job: Job) async throws {
    _ = try await redis.run(
      .undoClaim,
      keys: [
        keys.claim(job.publisherId, job.transactionId),
        keys.synchronization(job.publisherId, job.synchronizationId),
        keys.open,
      ],
      arguments: [job.claim.encoded, keys.member(job.publisherId, job.synchronizationId)])
  }

  func encoded(_ job: Job) -> String { String(decoding: job.encoded, as: UTF8.self) }

  func unexpected(_ reply: [RESPValue], _ script: String) -> RedisError {
    RedisError(.reply, operation: "script \(script)", target: "Redis", cause: "unexpected answer \(reply)")
  }
}

extension RedisScript {
  fileprivate static let claim = RedisScript(
    "claim",
    """
    local known = redis.call('HMGET', KEYS[2], 'transaction', 'customer', 'status')
    if known[1] then
      if known[1] ~= ARGV[7] or known[2] ~= ARGV[6] then return {'in use'} end
      if known[3] == 'finalized' then return {'replayed'} end
      return {'held', ARGV[1]}
    end
    if ARGV[3] == '1' and redis.call('EXISTS', KEYS[4]) == 0 then return {'customer'} end
    local holder = redis.call('GET', KEYS[1])
    if holder then return {'held', holder} end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    redis.call('HSET', KEYS[2], 'transaction', ARGV[7], 'customer', ARGV[6], 'status', 'processing', 'job', ARGV[8],
      'traceparent', ARGV[9])
    local now = redis.call('TIME')
    redis.call('ZADD', KEYS[3], now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[5], ARGV[4])
    return {'claimed'}
    """)

  fileprivate static let prolongClaim = RedisScript(
    "prolong claim",
    """
    if redis.call('HGET', KEYS[2], 'status') == 'finalized' then return 1 end
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    redis.call('PERSIST', KEYS[1])
    return 1
    """)

  fileprivate static let undoClaim = RedisScript(
    "undo claim",
    """
    local state = redis.call('HMGET', KEYS[2], 'status', 'fence')
    if state[1] ~= 'processing' or state[2] then return 0 end
    if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
    redis.call('DEL', KEYS[2])
    redis.call('ZREM', KEYS[3], ARGV[2])
    return 1
    """)
}

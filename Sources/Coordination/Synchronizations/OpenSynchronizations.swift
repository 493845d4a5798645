public import Domain
public import EventLoop
public import Redis

/// What the fleet coordinates in Redis. Each change of state is one script, so it happens whole or not at all.
///
/// Every method throws `RedisError`. After an error the script may have run or not. Every script may run again.
@LoopActor
public final class PurchaseStore {
  let redis: RedisClient
  let keys: Keys
  let concluding: ConcludeBatch

  /// Creates a store over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
    concluding = ConcludeBatch(redis, keys)
  }

  /// Whether Redis can answer now.
  public var isReady: Bool { redis.isReady }

  /// Takes a finalized synchronization out of Redis. The claim, the open entry and the lease go in one step.
  public func conclude(_ concluded: Concluded) async throws { try await concluding.add(concluded) }

  /// Reads a synchronization; `nil` when there is none, or none any more. It has no conclusion: only the ledger has the
  /// result.
  public func synchronization(_ publisher: Int64, _ id: SynchronizationId) async throws -> Synchronization? {
    let key = keys.synchronization(publisher, id)
    let fields = try await redis.send(["HGETALL", key]).hash
    try RecordVersion.check(fields, key: key, "read synchronization")
    return Synchronization(publisher: publisher, id: id, fields: fields)
  }

  /// The state of a synchronization, and why it is retrying; no status if the store does not know it.
  public func progress(
    _ publisher: Int64, _ id: SynchronizationId
  ) async throws -> (status: Synchronization.Status?, cause: RetryCause?) {
    let fields = try await redis.send(["HMGET", keys.synchronization(publisher, id), "status", "cause"]).array ?? []
    guard fields.count == 2 else { return (nil, nil) }
    return (
      fields[0].string.flatMap(Synchronization.Status.init(rawValue:)), fields[1].string.flatMap(RetryCause.init)
    )
  }
}

extension Synchronization {
  /// Reads a synchronization from the fields of its hash.
  init?(publisher: Int64, id: SynchronizationId, fields: [String: String]) {
    guard let customer = fields["customer"], let transaction = fields["transaction"],
      let status = fields["status"].flatMap(Status.init)
    else { return nil }
    self.init(
      id: id, publisherId: publisher, customerId: CustomerId(customer), transactionId: TransactionId(transaction),
      kind: fields["kind"].flatMap(Job.Kind.init(rawValue:)) ?? .registration, status: status)
  }
}

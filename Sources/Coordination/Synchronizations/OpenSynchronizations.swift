public import Domain
public import EventLoop
public import Redis

/// The synchronizations under way, in Redis, and for a while the finalized ones.
///
/// Every method throws `RedisError`.
@LoopActor
public final class OpenSynchronizations {
  let redis: RedisClient
  let keys: Keys

  /// Creates it over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// Reads a synchronization; `nil` when there is none, or none any more. It has no result: only the ledger has it.
  public func synchronization(_ publisher: PublisherId, _ id: SynchronizationId) async throws -> Synchronization? {
    let key = keys.synchronization(publisher, id)
    let fields = try await redis.send(["HGETALL", key]).hash
    try RecordVersion.check(fields, key: key, "read synchronization")
    return Synchronization(publisher: publisher, id: id, fields: fields)
  }

  /// The state of a synchronization, and why it is retrying; no status if the store does not know it.
  public func progress(
    _ publisher: PublisherId, _ id: SynchronizationId
  ) async throws -> (status: Synchronization.Status?, cause: RetryCause?) {
    let fields = try await redis.send(["HMGET", keys.synchronization(publisher, id), "status", "cause"]).array ?? []
    guard fields.count == 2 else { return (nil, nil) }
    return (
      fields[0].string.flatMap(Synchronization.Status.init(rawValue:)), fields[1].string.flatMap(RetryCause.init)
    )
  }

  /// How many synchronizations of a lane are under way.
  public func count(_ lane: JobLane) async throws -> Int {
    let reply = try await redis.send(["ZCARD", keys.open(lane)])
    guard let count = reply.integer else { throw RedisError.unexpected(reply, "count open synchronizations") }
    return Int(clamping: count)
  }

  /// Reads what is known of a job under way; `nil` if none has its id any more.
  public func open(_ job: Job) async throws -> OpenJob? {
    let progress = try await progress(job.publisherId, job.synchronizationId)
    return progress.status.map { status in
      OpenJob(
        job: job, status: status, cause: progress.cause, place: nil,
        member: keys.member(job.publisherId, job.synchronizationId))
    }
  }
}

extension Synchronization {
  /// Reads a synchronization from the fields of its hash.
  init?(publisher: PublisherId, id: SynchronizationId, fields: [String: String]) {
    guard let customer = fields["customer"], let transaction = fields["transaction"],
      let status = fields["status"].flatMap(Status.init)
    else { return nil }
    self.init(
      id: id, publisherId: publisher, customerId: CustomerId(customer), transactionId: TransactionId(transaction),
      kind: fields["kind"].flatMap(Job.Kind.init(rawValue:)) ?? .registration, status: status)
  }
}

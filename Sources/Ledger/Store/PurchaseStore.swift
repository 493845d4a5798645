public import Domain
public import EventLoop
public import Redis

/// The fleet's records in Redis. Each change of state is one script, so it happens whole or not at all.
///
/// Every method throws `RedisError`. After an error the script may have run or not. Every script may run again.
@LoopActor
public final class PurchaseStore {
  let redis: RedisClient
  let keys: Keys
  let told: ToldBatch

  /// Creates a store over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
    told = ToldBatch(redis, open: keys.open)
  }

  /// Whether Redis can answer now.
  public var isReady: Bool { redis.isReady }

  /// Reads a synchronization; `nil` when there is none, or none any more.
  public func synchronization(_ publisher: Int64, _ id: String) async throws -> Synchronization? {
    let key = keys.synchronization(publisher, id)
    let fields = try await redis.send(["HGETALL", key]).hash
    try RecordVersion.check(fields, key: key, "read synchronization")
    return Synchronization(publisher: publisher, id: id, fields: fields)
  }
}

extension Synchronization {
  /// Reads a synchronization from the fields of its hash.
  init?(publisher: Int64, id: String, fields: [String: String]) {
    guard let customer = fields["customer"].flatMap({ Int64($0) }), let transaction = fields["transaction"],
      let status = fields["status"].flatMap(Status.init)
    else { return nil }
    self.init(id: id, publisherId: publisher, customerId: customer, transactionId: transaction, status: status)
    guard status == .finalized, let result = fields["result"] else { return }
    func text(_ field: String) -> String? { fields[field].flatMap { $0.isEmpty ? nil : $0 } }
    conclusion = Conclusion(
      outcome: Outcome(
        SynchronizationResult(rawValue: result), accessGranted: fields["granted"] == "1", offerId: text("offer"),
        originalTransactionId: text("original"), environment: text("environment")),
      version: fields["version"].flatMap { Int64($0) } ?? 0,
      finalizedAt: fields["finalizedAt"].flatMap { Int64($0) } ?? 0, traceparent: text("traceparent"))
  }
}

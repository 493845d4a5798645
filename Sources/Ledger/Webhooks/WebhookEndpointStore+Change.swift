public import Domain
import EventLoop
import Formats
import Redis
import Store

extension WebhookEndpointStore {
  /// Others changed the same endpoint again and again during the change.
  public struct Contention: Error, Sendable {}

  /// Changes an endpoint: reads it, lets `body` change it, and writes it if nobody else has changed it meanwhile.
  ///
  /// Otherwise the store does all of it again, so that no change undoes another.
  ///
  /// - Parameter body: gets the endpoint and Redis' time in milliseconds since 1970. The store may call it several
  ///   times. If it throws, the store passes the error on, and nothing has changed.
  /// - Returns: the endpoint as it is now; `nil` when there is none.
  /// - Throws: ``Contention`` besides.
  public func change(
    _ publisher: Int64, _ id: String, _ body: (inout WebhookEndpoint, Int64) throws -> Void
  ) async throws -> WebhookEndpoint? {
    let (key, version) = (keys.webhook(publisher, id), keys.webhooksVersion(publisher))
    // In each round that this change loses, another change has won.
    for _ in 0..<50 {
      let reply = try await redis.run(.readEndpoint, keys: ["webhookKey": key])
      guard let parts = reply.array, parts.count == 2, let now = parts[0].integer else {
        throw RedisError.malformed("read endpoint", "no pair of time and hash")
      }
      guard let old = try WebhookRecord.read(id, parts[1], "read endpoint") else { return nil }
      var endpoint = old.endpoint
      try body(&endpoint, now)
      guard WebhookRecord.fields(endpoint).map(\.exact) != WebhookRecord.fields(old.endpoint).map(\.exact) else {
        return endpoint
      }
      let written = try await redis.run(
        .changeEndpoint, keys: ["webhookKey": key, "versionKey": version], arguments: ["oldRevision": old.revision],
        moreArguments: WebhookRecord.fields(endpoint)
      ).integer
      switch written {
      case 0: return nil
      case -1: continue
      case let time? where time > 0:
        endpoint.updatedAt = time
        return endpoint
      default: throw RedisError.malformed("change endpoint", "no time")
      }
    }
    throw Contention()
  }
}

extension RedisScript {
  fileprivate static let readEndpoint = RedisScript(
    "read endpoint", functions: [.clock], keys: ["webhookKey"],
    """
    local now = clock()
    return {now, redis.call('HGETALL', webhookKey)}
    """)

  /// If an answer is lost, the script runs again and takes its own change for somebody else's. The store then makes
  /// the change once more. Every change that the API offers may run twice.
  fileprivate static let changeEndpoint = RedisScript(
    "change endpoint", functions: [.clock, .newer], keys: ["webhookKey", "versionKey"], arguments: ["oldRevision"],
    moreArguments: "firstField",
    """
    local known = redis.call('HMGET', webhookKey, 'revision', 'recordVersion')
    local refusal = newer(webhookKey, known[2])
    if refusal then return refusal end
    local revision = known[1]
    if not revision then return 0 end
    if revision ~= oldRevision then return -1 end
    local now, micros = clock()
    redis.call('HSET', webhookKey, 'updated_at', now, unpack(ARGV, firstField))
    redis.call('HINCRBY', webhookKey, 'revision', 1)
    redis.call('SET', versionKey, string.format('%.0f', micros))
    return now
    """)
}

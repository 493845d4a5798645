public import EventLoop
public import Purchases
public import Redis

/// The webhook endpoints that publishers manage over the API, in Redis; those of their files are not here.
///
/// Each change is one script, so it happens whole or not at all. Every method throws `RedisError`; a thrown error
/// leaves it open whether the script ran, and every script may be run again.
@LoopActor
public final class WebhookEndpointStore {
  /// The most endpoints that one publisher may have here.
  public nonisolated static let limit = 1000

  let redis: RedisClient
  let keys: Keys

  /// Creates a store over a client, with the configured first part of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// A publisher's endpoints at one moment.
  public struct Snapshot: Sendable, Equatable {
    /// In the order of their creation.
    public let endpoints: [WebhookEndpoint]
    /// Names this state: another one has another name.
    public let version: String
  }

  /// Reads a publisher's endpoints.
  ///
  /// - Parameter version: of a snapshot that the caller has.
  /// - Returns: `nil` when nothing has changed since that version.
  public func endpoints(_ publisher: Int64, since version: String? = nil) async throws -> Snapshot? {
    let reply = try await redis.run(
      .readEndpoints, keys: [keys.webhooks(publisher), keys.webhooksVersion(publisher)],
      arguments: [keys.webhookPrefix(publisher), version ?? "none"])
    guard let parts = reply.array, parts.count == 2, let now = parts[0].string, let found = parts[1].array else {
      return nil
    }
    let endpoints = found.compactMap { pair -> WebhookEndpoint? in
      guard let pair = pair.array, pair.count == 2, let id = pair[0].string else { return nil }
      return WebhookRecord(id: id, fields: pair[1].hash)?.endpoint
    }
    return Snapshot(endpoints: endpoints, version: now)
  }

  /// Reads an endpoint; `nil` when there is none.
  public func endpoint(_ publisher: Int64, _ id: String) async throws -> WebhookEndpoint? {
    let fields = try await redis.send(["HGETALL", keys.webhook(publisher, id)]).hash
    return WebhookRecord(id: id, fields: fields)?.endpoint
  }

  /// What creating an endpoint came to.
  public enum Creation: Sendable, Equatable {
    /// As it is kept, with its times.
    case created(WebhookEndpoint)
    /// The publisher has ``limit`` endpoints.
    case full
  }

  /// Keeps a new endpoint; its times are set here.
  public func create(_ publisher: Int64, _ endpoint: WebhookEndpoint) async throws -> Creation {
    let reply = try await redis.run(
      .createEndpoint,
      keys: [
        keys.webhooks(publisher), keys.webhook(publisher, endpoint.id), keys.webhooksVersion(publisher),
        keys.webhookHealth(publisher, endpoint.id),
      ],
      arguments: [String(Self.limit), endpoint.id] + WebhookRecord.fields(endpoint))
    guard let now = reply.integer, now > 0 else { return .full }
    var endpoint = endpoint
    (endpoint.createdAt, endpoint.updatedAt) = (now, now)
    return .created(endpoint)
  }

  /// Deletes an endpoint and what is known of its health; the delivery of what it is owed ends with the next attempt.
  ///
  /// - Returns: whether there was one.
  public func delete(_ publisher: Int64, _ id: String) async throws -> Bool {
    try await redis.run(
      .deleteEndpoint,
      keys: [
        keys.webhooks(publisher), keys.webhook(publisher, id), keys.webhooksVersion(publisher),
        keys.webhookHealth(publisher, id),
      ],
      arguments: [id]
    ).integer == 1
  }
}

extension RedisScript {
  fileprivate static let readEndpoints = RedisScript(
    "read endpoints",
    """
    local version = redis.call('GET', KEYS[2]) or ''
    if version == ARGV[2] then return false end
    local found = {}
    for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
      found[#found + 1] = {id, redis.call('HGETALL', ARGV[1] .. id)}
    end
    return {version, found}
    """)

  /// Run again, it finds its own work: an id is drawn once.
  fileprivate static let createEndpoint = RedisScript(
    "create endpoint",
    """
    local known = redis.call('ZSCORE', KEYS[1], ARGV[2])
    if known then return tonumber(known) end
    if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('HSET', KEYS[2], 'created_at', now, 'updated_at', now, 'revision', 1, unpack(ARGV, 3))
    redis.call('ZADD', KEYS[1], now, ARGV[2])
    redis.call('DEL', KEYS[4])
    redis.call('SET', KEYS[3], time[1] .. string.format('%06d', time[2]))
    return now
    """)

  fileprivate static let deleteEndpoint = RedisScript(
    "delete endpoint",
    """
    redis.call('DEL', KEYS[4])
    redis.call('DEL', KEYS[2])
    local count = redis.call('ZREM', KEYS[1], ARGV[1])
    local time = redis.call('TIME')
    if count == 1 then redis.call('SET', KEYS[3], time[1] .. string.format('%06d', time[2])) end
    return count
    """)
}

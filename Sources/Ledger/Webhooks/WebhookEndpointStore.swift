public import Domain
public import EventLoop
public import Formats
public import Redis
import Store

/// The webhook endpoints that publishers manage over the API, in Redis. The endpoints of their files are not here.
///
/// Each change is one script, so it happens whole or not at all. Every method throws `RedisError`. After an error the
/// script may have run or not. Every script may run again.
@LoopActor
public final class WebhookEndpointStore {
  /// The most endpoints that one publisher may have here.
  public nonisolated static let limit = 1000

  let redis: RedisClient
  let keys: Keys

  /// Creates a store over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }

  /// A publisher's endpoints at one moment.
  public struct Snapshot: Sendable, Equatable {
    /// In the order of their creation.
    public let endpoints: [WebhookEndpoint]
    /// The ids of disabled endpoints, among them those of the publisher's file that the caller named.
    public let disabled: Set<ExactText>
    /// Names this state. Another state has another name.
    public let version: String

    /// Creates a snapshot.
    public init(endpoints: [WebhookEndpoint], disabled: Set<ExactText> = [], version: String) {
      self.endpoints = endpoints
      self.disabled = disabled
      self.version = version
    }

    /// Reads the reply of a script; `nil` means that nothing has changed.
    static func read(_ reply: RESPValue) throws(RedisError) -> Snapshot? {
      if reply == .null { return nil }
      guard let parts = reply.array, parts.count == 3, let version = parts[0].string, let found = parts[1].array,
        let disabled = parts[2].array
      else { throw .malformed("read endpoints", "neither a snapshot nor nothing") }
      return Snapshot(
        endpoints: try WebhookRecord.readAll(found, "read endpoints"),
        disabled: Set(disabled.compactMap { $0.string?.exact }),
        version: version)
    }
  }

  /// Reads a publisher's endpoints.
  ///
  /// - Parameters:
  ///   - version: of a snapshot that the caller has.
  ///   - configured: the ids of the publisher's file, for their health. If the ids differ from the last call's, ask
  ///     without a version.
  /// - Returns: `nil` when nothing has changed since that version.
  public func endpoints(
    _ publisher: Int64, since version: String? = nil, configured: [String] = []
  ) async throws -> Snapshot? {
    let reply = try await redis.run(
      .readEndpoints, keys: ["webhooksKey": keys.webhooks(publisher), "versionKey": keys.webhooksVersion(publisher)],
      arguments: [
        "prefix": keys.webhookPrefix(publisher), "healthPrefix": keys.webhookHealthPrefix(publisher),
        "knownVersion": version ?? "none",
      ],
      moreArguments: configured)
    return try Snapshot.read(reply)
  }

  /// Reads an endpoint; `nil` when there is none.
  public func endpoint(_ publisher: Int64, _ id: String) async throws -> WebhookEndpoint? {
    let reply = try await redis.send(["HGETALL", keys.webhook(publisher, id)])
    return try WebhookRecord.read(id, reply, "read endpoint")?.endpoint
  }

  /// The result of creating an endpoint.
  public enum Creation: Sendable, Equatable {
    /// The new endpoint, with its times.
    case created(WebhookEndpoint)
    /// The publisher has ``limit`` endpoints.
    case full

    /// Reads the reply of a script: the time of the creation, or 0.
    static func read(_ reply: RESPValue, _ endpoint: WebhookEndpoint) throws(RedisError) -> Creation {
      guard let now = reply.integer, now >= 0 else { throw .malformed("create endpoint", "no time") }
      if now == 0 { return .full }
      var endpoint = endpoint
      (endpoint.createdAt, endpoint.updatedAt) = (now, now)
      return .created(endpoint)
    }
  }

  /// Stores a new endpoint and sets its times.
  public func create(_ publisher: Int64, _ endpoint: WebhookEndpoint) async throws -> Creation {
    let reply = try await redis.run(
      .createEndpoint,
      keys: [
        "webhooksKey": keys.webhooks(publisher), "webhookKey": keys.webhook(publisher, endpoint.id),
        "versionKey": keys.webhooksVersion(publisher), "healthKey": keys.webhookHealth(publisher, endpoint.id),
      ],
      arguments: ["limit": String(Self.limit), "id": endpoint.id], moreArguments: WebhookRecord.fields(endpoint))
    return try Creation.read(reply, endpoint)
  }

  /// Deletes an endpoint and its health. A delivery of its missed events ends with the next attempt.
  ///
  /// - Returns: whether there was one.
  public func delete(_ publisher: Int64, _ id: String) async throws -> Bool {
    try await redis.run(
      .deleteEndpoint,
      keys: [
        "webhooksKey": keys.webhooks(publisher), "webhookKey": keys.webhook(publisher, id),
        "versionKey": keys.webhooksVersion(publisher), "healthKey": keys.webhookHealth(publisher, id),
      ],
      arguments: ["id": id]
    ).flag("delete endpoint")
  }
}

extension RedisScript {
  fileprivate static let readEndpoints = RedisScript(
    "read endpoints", keys: ["webhooksKey", "versionKey"], arguments: ["prefix", "healthPrefix", "knownVersion"],
    moreArguments: "firstConfigured",
    """
    local version = redis.call('GET', versionKey) or ''
    if version == knownVersion then return false end
    local found, disabled = {}, {}
    local function look(id)
      if redis.call('HEXISTS', healthPrefix .. id, 'disabled_reason') == 1 then disabled[#disabled + 1] = id end
    end
    for _, id in ipairs(redis.call('ZRANGE', webhooksKey, 0, -1)) do
      found[#found + 1] = {id, redis.call('HGETALL', prefix .. id)}
      look(id)
    end
    for index = firstConfigured, #ARGV do look(ARGV[index]) end
    return {version, found, disabled}
    """)

  /// If this script runs again, it finds its own work: no id is drawn twice.
  fileprivate static let createEndpoint = RedisScript(
    "create endpoint", functions: [.clock], keys: ["webhooksKey", "webhookKey", "versionKey", "healthKey"],
    arguments: ["limit", "id"], moreArguments: "firstField",
    """
    local known = redis.call('ZSCORE', webhooksKey, id)
    if known then return tonumber(known) end
    if redis.call('ZCARD', webhooksKey) >= tonumber(limit) then return 0 end
    local now, micros = clock()
    redis.call('HSET', webhookKey, 'created_at', now, 'updated_at', now, 'revision', 1, unpack(ARGV, firstField))
    redis.call('ZADD', webhooksKey, now, id)
    redis.call('DEL', healthKey)
    redis.call('SET', versionKey, string.format('%.0f', micros))
    return now
    """)

  fileprivate static let deleteEndpoint = RedisScript(
    "delete endpoint", functions: [.clock, .newer], keys: ["webhooksKey", "webhookKey", "versionKey", "healthKey"],
    arguments: ["id"],
    """
    local refusal = newer(webhookKey, redis.call('HGET', webhookKey, 'recordVersion'))
    if refusal then return refusal end
    redis.call('DEL', healthKey)
    redis.call('DEL', webhookKey)
    local count = redis.call('ZREM', webhooksKey, id)
    local _, micros = clock()
    if count == 1 then redis.call('SET', versionKey, string.format('%.0f', micros)) end
    return count
    """)
}

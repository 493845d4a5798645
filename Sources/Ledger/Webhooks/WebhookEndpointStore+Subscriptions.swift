public import Domain
import EventLoop
import JSON
import Redis
import Store

extension WebhookEndpointStore {
  /// An endpoint as `PUT /3.1/webhook_subscriptions/{topic}` asks for it.
  public struct Subscription: Sendable, Equatable {
    /// What is kept when the topic has no endpoint with this URL yet.
    public var endpoint: WebhookEndpoint
    /// Whether the key was given, and so replaces the one of an endpoint that is there already.
    public var hasOwnKey: Bool

    /// Creates it; the endpoint's source is `subscription`, and its only topic the one that is put.
    public init(endpoint: WebhookEndpoint, hasOwnKey: Bool) {
      self.endpoint = endpoint
      self.hasOwnKey = hasOwnKey
    }
  }

  /// What replacing a topic's list came to.
  public enum Replacement: Sendable, Equatable {
    /// The list as it is now, in the order in which it was put, and the ids of what is new in it and what has gone.
    case replaced([WebhookEndpoint], new: Set<String>, removed: [String])
    /// The publisher would have more than ``limit`` endpoints; nothing has changed.
    case full

    /// Reads the reply of a script: what is there now and what has gone, or 0.
    ///
    /// - Parameter drawn: the ids that new endpoints were to have.
    static func read(_ reply: RESPValue, drawn: [String]) throws(RedisError) -> Replacement {
      if reply.integer == 0 { return .full }
      guard let parts = reply.array, parts.count == 2, let found = parts[0].array, let removed = parts[1].array else {
        throw .malformed("replace subscriptions", "no pair of lists")
      }
      let endpoints = try WebhookRecord.readAll(found, "replace subscriptions")
      return .replaced(
        endpoints, new: Set(endpoints.map(\.id)).intersection(drawn), removed: removed.compactMap(\.string))
    }
  }

  /// Replaces the endpoints that a topic has by this form: those that are not in the list are deleted, those whose URL
  /// is in it keep their id and, without a new one, their key. New is a key that differs from the one that was put last: the
  /// same list, put again by every deployment, must not bring back a key that was rotated away. Endpoints of the resource
  /// API are left alone.
  ///
  /// - Parameter list: without two of the same URL.
  public func replace(_ publisher: Int64, topic: String, with list: [Subscription]) async throws -> Replacement {
    let entries = list.map { subscription in
      Entry(
        id: subscription.endpoint.id, url: subscription.endpoint.url,
        fields: WebhookRecord.fields(subscription.endpoint),
        changes: WebhookRecord.subscribed(subscription.endpoint),
        key: subscription.hasOwnKey ? WebhookRecord.secrets(subscription.endpoint)[1] : "")
    }
    let reply = try await redis.run(
      .replaceSubscriptions,
      keys: ["webhooksKey": keys.webhooks(publisher), "versionKey": keys.webhooksVersion(publisher)],
      arguments: [
        "prefix": keys.webhookPrefix(publisher), "healthPrefix": keys.webhookHealthPrefix(publisher),
        "limit": String(Self.limit), "topics": WebhookRecord.topics([topic]),
      ],
      moreArguments: entries.map(WebhookRecord.json))
    return try Replacement.read(reply, drawn: list.map(\.endpoint.id))
  }

  private struct Entry: Encodable {
    let id: String
    let url: String
    let fields: [String]
    let changes: [String]
    /// The key that was given, as the field has it; empty without one.
    let key: String
  }
}

extension RedisScript {
  /// Decides first and writes then, since a script that stops half way would not be taken back.
  fileprivate static let replaceSubscriptions = RedisScript(
    "replace subscriptions", functions: [.clock, .newer], keys: ["webhooksKey", "versionKey"],
    arguments: ["prefix", "healthPrefix", "limit", "topics"], moreArguments: "firstEntry",
    """
    -- Returns the error for a newer record, the entries with the id that is kept for each, how many are new, and the
    -- ids that are in no entry.
    local function compare()
      local known = {}
      for _, id in ipairs(redis.call('ZRANGE', webhooksKey, 0, -1)) do
        local values = redis.call('HMGET', prefix .. id, 'source', 'topics', 'url', 'recordVersion')
        local refusal = newer(prefix .. id, values[4])
        if refusal then return refusal end
        if values[1] == 'subscription' and values[2] == topics then known[values[3]] = id end
      end
      local entries, added, removed = {}, 0, {}
      for index = firstEntry, #ARGV do
        local entry = cjson.decode(ARGV[index])
        entry.kept = known[entry.url]
        known[entry.url] = nil
        if not entry.kept then added = added + 1 end
        entries[#entries + 1] = entry
      end
      for _, id in pairs(known) do removed[#removed + 1] = id end
      return nil, entries, added, removed
    end

    local function create(entry, key, now)
      redis.call('HSET', key, 'created_at', now, 'updated_at', now, 'revision', 1, unpack(entry.fields))
      if entry.key ~= '' then redis.call('HSET', key, 'put_key', entry.key) end
      redis.call('ZADD', webhooksKey, now, entry.id)
      redis.call('DEL', healthPrefix .. entry.id)
    end

    -- Returns whether anything was different.
    local function update(entry, key, now)
      if entry.key ~= '' and redis.call('HGET', key, 'put_key') ~= entry.key then
        for _, word in ipairs({'secrets', entry.key, 'put_key', entry.key}) do
          entry.changes[#entry.changes + 1] = word
        end
      end
      local differs = false
      for index = 1, #entry.changes, 2 do
        local old = redis.call('HGET', key, entry.changes[index])
        if old ~= entry.changes[index + 1] then differs = true end
      end
      if differs then
        redis.call('HSET', key, 'updated_at', now, unpack(entry.changes))
        redis.call('HINCRBY', key, 'revision', 1)
      end
      return differs
    end

    local refusal, entries, added, removed = compare()
    if refusal then return refusal end
    local count = redis.call('ZCARD', webhooksKey) - #removed + added
    if added > 0 and count > tonumber(limit) then return 0 end
    local now, micros = clock()
    local changed = added + #removed > 0
    for _, id in ipairs(removed) do
      redis.call('ZREM', webhooksKey, id)
      redis.call('DEL', prefix .. id, healthPrefix .. id)
    end
    local list = {}
    for number, entry in ipairs(entries) do
      local id = entry.kept or entry.id
      local key = prefix .. id
      if not entry.kept then
        create(entry, key, now)
      elseif update(entry, key, now) then
        changed = true
      end
      list[number] = {id, redis.call('HGETALL', key)}
    end
    if changed then redis.call('SET', versionKey, string.format('%.0f', micros)) end
    return {list, removed}
    """)
}

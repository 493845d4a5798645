public import Domain
import EventLoop
import JSON
import Redis
import Store

extension WebhookEndpointStore {
  /// An endpoint as `PUT /3.1/webhook_subscriptions/{topic}` asks for it.
  public struct Subscription: Sendable, Equatable {
    /// The endpoint to create when the topic has no endpoint with this URL yet.
    public var endpoint: WebhookEndpoint
    /// Whether the request gave the key. Then it replaces the key of an existing endpoint.
    public var hasOwnKey: Bool

    /// Creates a subscription. The endpoint's source is `subscription`, and its only topic is that of the request.
    public init(endpoint: WebhookEndpoint, hasOwnKey: Bool) {
      self.endpoint = endpoint
      self.hasOwnKey = hasOwnKey
    }
  }

  /// The result of replacing a topic's list.
  public enum Replacement: Sendable, Equatable {
    /// The present list, in the order of the request, the ids of its new endpoints, and the ids of removed ones.
    case replaced([WebhookEndpoint], new: Set<String>, removed: [String])
    /// The publisher would have more than ``limit`` endpoints; nothing has changed.
    case full

    /// Reads the reply of a script: the present list and the removed ids, or 0.
    ///
    /// - Parameter drawn: the ids that the caller drew for new endpoints.
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

  /// Replaces the endpoints that a topic has through `PUT /3.1/webhook_subscriptions/{topic}`.
  ///
  /// The script deletes endpoints that are not in the list. An endpoint whose URL is in the list keeps its id and,
  /// without a new one, its key. A key is new if it differs from the one that was put last: every deployment puts the
  /// same list again, and must not bring back a key that was rotated away. The script does not touch endpoints of the
  /// resource API.
  ///
  /// - Parameter list: must not have the same URL twice.
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
    /// The key of the request, in the form of the field; empty without one.
    let key: String
  }
}

extension RedisScript {
  /// The script decides first and then writes: Redis does not take back a script that stops half way.
  fileprivate static let replaceSubscriptions = RedisScript(
    "replace subscriptions", functions: [.clock, .newer], keys: ["webhooksKey", "versionKey"],
    arguments: ["prefix", "healthPrefix", "limit", "topics"], moreArguments: "firstEntry",
    """
    -- Returns the error for a newer record, the entries with the kept id of each, the number of new entries, and the
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

    -- Returns whether anything has changed.
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

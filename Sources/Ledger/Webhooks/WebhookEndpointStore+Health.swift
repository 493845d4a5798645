public import Domain
import EventLoop
import Redis
import Store

extension WebhookEndpointStore {
  /// Reads the health of endpoints, of the API and of files alike, in the order of the ids.
  public func health(_ publisher: Int64, _ ids: [String]) async throws -> [EndpointHealth] {
    guard !ids.isEmpty else { return [] }
    let reply = try await redis.run(
      .readHealth, moreKeys: ids.map { keys.webhookHealth(publisher, $0) })
    guard let found = reply.array, found.count == ids.count else {
      throw RedisError.malformed("read health", "not as many as were asked for")
    }
    return try found.map { values in
      guard let values = values.array, values.count == EndpointHealth.fields.count else {
        throw RedisError.malformed("read health", "no list of fields")
      }
      return EndpointHealth(fields: values.map(\.string))
    }
  }

  /// Lets an endpoint get events again, for any reason that disabled it. The endpoint gets the whole time to recover.
  ///
  /// - Parameter isConfigured: whether the endpoint is in the publisher's file. Such an endpoint need not be in Redis.
  /// - Returns: whether there is such an endpoint.
  public func enable(_ publisher: Int64, _ id: String, isConfigured: Bool = false) async throws -> Bool {
    try await redis.run(
      .enableEndpoint,
      keys: [
        "webhookKey": keys.webhook(publisher, id), "healthKey": keys.webhookHealth(publisher, id),
        "versionKey": keys.webhooksVersion(publisher),
      ],
      arguments: ["isConfigured": isConfigured ? "1" : "0"]
    ).flag("enable endpoint")
  }

  /// Disables an endpoint at the publisher's request. An endpoint that is already disabled keeps its reason and its
  /// time.
  ///
  /// - Returns: whether there is such an endpoint.
  public func disable(_ publisher: Int64, _ id: String) async throws -> Bool {
    try await redis.run(
      .disableEndpoint,
      keys: [
        "webhookKey": keys.webhook(publisher, id), "healthKey": keys.webhookHealth(publisher, id),
        "versionKey": keys.webhooksVersion(publisher),
      ],
      arguments: ["reason": EndpointHealth.Reason.request.rawValue]
    ).flag("disable endpoint")
  }
}

extension EndpointHealth {
  /// The fields of its hash, in this order.
  static let fields = ["disabled_reason", "disabled_at", "failing_since"]

  /// Reads the values of ``fields``.
  init(fields values: [String?]) {
    self.init()
    if let reason = values[0].flatMap(Reason.init) {
      disabled = Disabled(reason: reason, at: values[1].flatMap { Int64($0) } ?? 0)
    }
    failingSince = values[2].flatMap { Int64($0) }
  }
}

extension RedisScript {
  fileprivate static let readHealth = RedisScript(
    "read health", functions: [.newer], moreKeys: "firstHealth",
    """
    local found = {}
    for index = firstHealth, #KEYS do
      local values = redis.call('HMGET', KEYS[index], 'disabled_reason', 'disabled_at', 'failing_since',
        'recordVersion')
      local refusal = newer(KEYS[index], table.remove(values))
      if refusal then return refusal end
      found[#found + 1] = values
    end
    return found
    """)

  fileprivate static let enableEndpoint = RedisScript(
    "enable endpoint", functions: [.clock, .newer], keys: ["webhookKey", "healthKey", "versionKey"],
    arguments: ["isConfigured"],
    """
    if isConfigured ~= '1' and redis.call('EXISTS', webhookKey) == 0 then return 0 end
    local health = redis.call('HMGET', healthKey, 'disabled_reason', 'recordVersion')
    local refusal = newer(healthKey, health[2])
    if refusal then return refusal end
    if health[1] then
      redis.call('DEL', healthKey)
      local _, micros = clock()
      redis.call('SET', versionKey, string.format('%.0f', micros))
    end
    return 1
    """)

  fileprivate static let disableEndpoint = RedisScript(
    "disable endpoint", functions: [.clock, .newer], keys: ["webhookKey", "healthKey", "versionKey"],
    arguments: ["reason"],
    """
    if redis.call('EXISTS', webhookKey) == 0 then return 0 end
    local health = redis.call('HMGET', healthKey, 'disabled_reason', 'recordVersion')
    local refusal = newer(healthKey, health[2])
    if refusal then return refusal end
    if not health[1] then
      local now, micros = clock()
      redis.call('HSET', healthKey, 'disabled_reason', reason, 'disabled_at', now)
      redis.call('SET', versionKey, string.format('%.0f', micros))
    end
    return 1
    """)
}

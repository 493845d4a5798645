public import Domain
import EventLoop
import Redis
import Store

extension WebhookEndpointStore {
  /// Reads the health of endpoints, of the API and of files alike, in the order of the ids.
  public func health(_ publisher: Int64, _ ids: [String]) async throws -> [EndpointHealth] {
    guard !ids.isEmpty else { return [] }
    let reply = try await redis.run(
      .readHealth, keys: ids.map { keys.webhookHealth(publisher, $0) }, arguments: [])
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

  /// Lets events be sent to an endpoint again, whatever disabled it, and gives it the whole time to recover.
  ///
  /// - Parameter isConfigured: whether it is one of the publisher's file, which need not be here.
  /// - Returns: whether there is such an endpoint.
  public func enable(_ publisher: Int64, _ id: String, isConfigured: Bool = false) async throws -> Bool {
    try await redis.run(
      .enableEndpoint,
      keys: [keys.webhook(publisher, id), keys.webhookHealth(publisher, id), keys.webhooksVersion(publisher)],
      arguments: [isConfigured ? "1" : "0"]
    ).flag("enable endpoint")
  }

  /// Stops sending to an endpoint at the publisher's request; one that is disabled keeps its reason and its time.
  ///
  /// - Returns: whether there is such an endpoint.
  public func disable(_ publisher: Int64, _ id: String) async throws -> Bool {
    try await redis.run(
      .disableEndpoint,
      keys: [keys.webhook(publisher, id), keys.webhookHealth(publisher, id), keys.webhooksVersion(publisher)],
      arguments: [EndpointHealth.Reason.request.rawValue]
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
    "read health",
    """
    local found = {}
    for number, key in ipairs(KEYS) do
      found[number] = redis.call('HMGET', key, 'disabled_reason', 'disabled_at', 'failing_since')
    end
    return found
    """)

  fileprivate static let enableEndpoint = RedisScript(
    "enable endpoint",
    """
    if ARGV[1] ~= '1' and redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    if redis.call('HEXISTS', KEYS[2], 'disabled_reason') == 1 then
      redis.call('DEL', KEYS[2])
      local time = redis.call('TIME')
      redis.call('SET', KEYS[3], time[1] .. string.format('%06d', time[2]))
    end
    return 1
    """)

  fileprivate static let disableEndpoint = RedisScript(
    "disable endpoint",
    """
    if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    if redis.call('HEXISTS', KEYS[2], 'disabled_reason') == 0 then
      local time = redis.call('TIME')
      redis.call('HSET', KEYS[2], 'disabled_reason', ARGV[1], 'disabled_at',
        time[1] * 1000 + math.floor(time[2] / 1000))
      redis.call('SET', KEYS[3], time[1] .. string.format('%06d', time[2]))
    end
    return 1
    """)
}

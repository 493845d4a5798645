public import Domain
import EventLoop
import Redis
import Store

extension DeliveryStore {
  /// Records in one step how an attempt ended, or that the notifier skipped it: slot, log, missed events, and the
  /// endpoint's health.
  ///
  /// Only this script disables an endpoint because of its attempts: when it answers 410, or when every attempt
  /// since a time has failed.
  ///
  /// - Parameters:
  ///   - attempt: its `time` does not count: Redis' own time does.
  ///   - isGone: whether the endpoint answered 410.
  ///   - disableAfter: how long an endpoint may fail.
  ///   - retention: how long Redis keeps log and event from now on.
  /// - Returns: the health of a disabled endpoint that nobody has announced, see ``announced(publisher:endpoint:)``.
  public func finish(
    _ delivery: Delivery, to endpoint: WebhookEndpoint, _ attempt: DeliveryAttempt,
    isGone: Bool = false, disableAfter: Duration, retention: Duration
  ) async throws -> EndpointHealth? {
    let publisher = delivery.publisherId
    let reply = try await redis.run(
      .finish,
      keys: [
        "webhookKey": keys.webhook(publisher, endpoint.id), "healthKey": keys.webhookHealth(publisher, endpoint.id),
        "eventKey": keys.event(publisher, delivery.eventId), "slotsKey": keys.slots(publisher, endpoint.id),
        "logKey": keys.attempts(publisher, endpoint.id),
        "eventLogKey": keys.eventAttempts(publisher, delivery.eventId),
        "owedKey": keys.owed(publisher, endpoint.id), "versionKey": keys.webhooksVersion(publisher),
      ],
      arguments: [
        "isConfigured": endpoint.source == .configuration ? "1" : "0", "endpoint": endpoint.id,
        "round": delivery.round, "attempt": String(attempt.number), "slot": Self.slot(delivery),
        "outcome": attempt.outcome.rawValue, "nextAt": attempt.nextAt.map { String($0) } ?? "",
        "isGone": isGone ? "1" : "0", "disableAfter": String(disableAfter.wholeMilliseconds),
        "retention": String(retention.wholeMilliseconds), "event": delivery.eventId, "message": delivery.kept,
      ],
      moreArguments: attempt.fields)
    guard let parts = reply.array else { throw unexpected(reply, "finish") }
    return EndpointHealth(unannounced: parts[...])
  }

  /// Notes that the event of a disabled endpoint is published.
  public func announced(publisher: Int64, endpoint: String) async throws {
    _ = try await redis.send(["HDEL", keys.webhookHealth(publisher, endpoint), "unannounced"])
  }
}

extension RedisScript {
  /// The script writes nothing about a deleted endpoint: its slots, its log and its missed events went with it.
  ///
  /// It keeps the last attempt of each round, for the last twenty rounds that somebody asked for. It keeps the number
  /// of deliveries apart, so that no later failure makes the event a missed one again.
  fileprivate static let finish = RedisScript(
    "finish", functions: [.clock, .newer, .unannounced],
    keys: [
      "webhookKey", "healthKey", "eventKey", "slotsKey", "logKey", "eventLogKey", "owedKey", "versionKey",
    ],
    arguments: [
      "isConfigured", "endpoint", "round", "attempt", "slot", "outcome", "nextAt", "isGone", "disableAfter",
      "retention", "event", "message",
    ],
    moreArguments: "firstField",
    """
    redis.call('ZREM', slotsKey, slot)
    if isConfigured == '0' and redis.call('EXISTS', webhookKey) == 0 then return {'', '', ''} end
    local made = 'made:' .. endpoint .. '/'
    local known = redis.call('HMGET', eventKey, 'done:' .. endpoint, made .. round, 'recordVersion')
    local health = redis.call('HMGET', healthKey, 'failing_since', 'disabled_reason', 'recordVersion')
    local refusal = newer(eventKey, known[3]) or newer(healthKey, health[3])
    if refusal then return refusal end
    local done, before = known[1], known[2]
    local now, micros = clock()
    local time, eldest = string.format('%.0f', now), string.format('%.0f', now - retention)

    -- Appends the attempt to the log of the endpoint, and its place there to the log of the event.
    local function log()
      local fields = {unpack(ARGV, firstField)}
      for index = 1, #fields, 2 do
        if fields[index] == 'time' then fields[index + 1] = time end
      end
      local id = redis.call('XADD', logKey, 'MINID', '~', eldest, '*', unpack(fields))
      redis.call('XTRIM', logKey, 'MAXLEN', '~', \(DeliveryStore.endpointLogLimit))
      redis.call('PEXPIRE', logKey, retention)
      redis.call('XADD', eventLogKey, 'MAXLEN', '~', \(DeliveryStore.eventLogLimit), '*',
        'endpoint', endpoint, 'id', id)
      redis.call('PEXPIRE', eventLogKey, retention)
    end

    -- Keeps the attempt as the last one of its round.
    local function keep()
      local seen = before and string.match(before, ' (%d+)$') or done or '0'
      redis.call('HSET', eventKey, 'message', message, made .. round,
        attempt .. ' ' .. outcome .. ' ' .. nextAt .. ' ' .. seen)
      if not before and round ~= '' then
        local rounds = {}
        local listed = redis.call('HGET', eventKey, 'rounds:' .. endpoint) or ''
        for name in string.gmatch(listed .. ' ' .. round, '%S+') do rounds[#rounds + 1] = name end
        while #rounds > 20 do redis.call('HDEL', eventKey, made .. table.remove(rounds, 1)) end
        redis.call('HSET', eventKey, 'rounds:' .. endpoint, table.concat(rounds, ' '))
      end
      if outcome == 'delivered' then redis.call('HINCRBY', eventKey, 'done:' .. endpoint, 1) end
      redis.call('PEXPIRE', eventKey, retention)
    end

    local function owe()
      if outcome == 'delivered' then
        redis.call('ZREM', owedKey, event)
      elseif not done and (outcome == 'abandoned' or outcome == 'skipped') then
        redis.call('ZADD', owedKey, time, event)
        redis.call('ZREMRANGEBYSCORE', owedKey, '-inf', eldest)
        redis.call('PEXPIRE', owedKey, retention)
      end
    end

    -- Notes the effect of the attempt on the endpoint's health, and disables an endpoint that is gone or has failed
    -- for too long.
    local function judge()
      if outcome == 'skipped' then return end
      if outcome == 'delivered' then return redis.call('HDEL', healthKey, 'failing_since') end
      local since = tonumber(health[1] or now)
      if not health[1] then redis.call('HSET', healthKey, 'failing_since', time) end
      local reason = isGone == '1' and 'gone' or now - since >= tonumber(disableAfter) and 'failing'
      if reason and not health[2] then
        redis.call('HSET', healthKey, 'disabled_reason', reason, 'disabled_at', time, 'unannounced', '1')
        redis.call('SET', versionKey, string.format('%.0f', micros))
      end
    end

    log()
    keep()
    owe()
    judge()
    return {unannounced(healthKey)}
    """)
}

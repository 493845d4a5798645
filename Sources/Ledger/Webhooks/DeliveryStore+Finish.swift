public import Domain
import EventLoop
import Redis
import Store

extension DeliveryStore {
  /// Records how an attempt ended, or that it was skipped, in one step: slot, log, what is owed, and the endpoint's health.
  ///
  /// An endpoint is disabled here, and only here: when it answers 410, or when every attempt since a time has failed.
  ///
  /// - Parameters:
  ///   - attempt: its `time` is ignored: Redis' own counts.
  ///   - isGone: whether the endpoint answered 410.
  ///   - disableAfter: how long an endpoint may fail.
  ///   - retention: how long log and event are kept from now on.
  /// - Returns: the health of an endpoint that is disabled and has not been announced, see ``announced(publisher:endpoint:)``.
  public func finish(
    _ delivery: Delivery, to endpoint: WebhookEndpoint, _ attempt: DeliveryAttempt,
    isGone: Bool = false, disableAfter: Duration, retention: Duration
  ) async throws -> EndpointHealth? {
    let publisher = delivery.publisherId
    let reply = try await redis.run(
      .finish,
      keys: [
        keys.webhook(publisher, endpoint.id), keys.webhookHealth(publisher, endpoint.id),
        keys.event(publisher, delivery.eventId), keys.slots(publisher, endpoint.id),
        keys.attempts(publisher, endpoint.id), keys.eventAttempts(publisher, delivery.eventId),
        keys.owed(publisher, endpoint.id), keys.webhooksVersion(publisher),
      ],
      arguments: [
        endpoint.source == .configuration ? "1" : "0", endpoint.id, delivery.round, String(attempt.number),
        Self.slot(delivery),
        attempt.outcome.rawValue, attempt.nextAt.map { String($0) } ?? "", isGone ? "1" : "0",
        String(disableAfter.wholeMilliseconds), String(retention.wholeMilliseconds), delivery.eventId, delivery.kept,
      ] + attempt.fields)
    guard let parts = reply.array else { throw unexpected(reply, "finish") }
    return EndpointHealth(unannounced: parts[...])
  }

  /// Notes that the event of a disabled endpoint was published.
  public func announced(publisher: Int64, endpoint: String) async throws {
    _ = try await redis.send(["HDEL", keys.webhookHealth(publisher, endpoint), "unannounced"])
  }
}

extension RedisScript {
  /// Nothing is written about an endpoint that was deleted: its slots, its log and what it was owed went with it.
  ///
  /// The last attempt is kept for each round, of the last twenty rounds that were asked for; that the event was delivered
  /// is kept apart, so that no later failure makes it owed again.
  fileprivate static let finish = RedisScript(
    "finish",
    unannouncedFunction + """
      redis.call('ZREM', KEYS[4], ARGV[5])
      if ARGV[1] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return {'', '', ''} end
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      local outcome, retention = ARGV[6], tonumber(ARGV[10])
      local eldest = string.format('%.0f', now - retention)
      local fields = {}
      for index = 13, #ARGV do fields[index - 12] = ARGV[index] end
      for index = 1, #fields, 2 do
        if fields[index] == 'time' then fields[index + 1] = string.format('%.0f', now) end
      end
      local id = redis.call('XADD', KEYS[5], 'MINID', '~', eldest, '*', unpack(fields))
      redis.call('XTRIM', KEYS[5], 'MAXLEN', '~', \(DeliveryStore.endpointLogLimit))
      redis.call('PEXPIRE', KEYS[5], retention)
      redis.call('XADD', KEYS[6], 'MAXLEN', '~', \(DeliveryStore.eventLogLimit), '*', 'endpoint', ARGV[2], 'id', id)
      redis.call('PEXPIRE', KEYS[6], retention)
      local done = redis.call('HGET', KEYS[3], 'done:' .. ARGV[2])
      local made = 'made:' .. ARGV[2] .. '/'
      local before = redis.call('HGET', KEYS[3], made .. ARGV[3])
      local seen = before and string.match(before, ' (%d+)$') or done or '0'
      redis.call('HSET', KEYS[3], 'message', ARGV[12], made .. ARGV[3],
        ARGV[4] .. ' ' .. outcome .. ' ' .. ARGV[7] .. ' ' .. seen)
      if not before and ARGV[3] ~= '' then
        local rounds = {}
        local known = redis.call('HGET', KEYS[3], 'rounds:' .. ARGV[2]) or ''
        for round in string.gmatch(known .. ' ' .. ARGV[3], '%S+') do rounds[#rounds + 1] = round end
        while #rounds > 20 do redis.call('HDEL', KEYS[3], made .. table.remove(rounds, 1)) end
        redis.call('HSET', KEYS[3], 'rounds:' .. ARGV[2], table.concat(rounds, ' '))
      end
      if outcome == 'delivered' then redis.call('HINCRBY', KEYS[3], 'done:' .. ARGV[2], 1) end
      redis.call('PEXPIRE', KEYS[3], retention)

      if outcome == 'delivered' then
        redis.call('ZREM', KEYS[7], ARGV[11])
      elseif not done and (outcome == 'abandoned' or outcome == 'skipped') then
        redis.call('ZADD', KEYS[7], string.format('%.0f', now), ARGV[11])
        redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', eldest)
        redis.call('PEXPIRE', KEYS[7], retention)
      end

      if outcome == 'delivered' then
        redis.call('HDEL', KEYS[2], 'failing_since')
      elseif outcome ~= 'skipped' then
        local health = redis.call('HMGET', KEYS[2], 'failing_since', 'disabled_reason')
        local since = tonumber(health[1] or now)
        if not health[1] then redis.call('HSET', KEYS[2], 'failing_since', string.format('%.0f', now)) end
        local reason = ARGV[8] == '1' and 'gone' or now - since >= tonumber(ARGV[9]) and 'failing'
        if reason and not health[2] then
          redis.call('HSET', KEYS[2], 'disabled_reason', reason, 'disabled_at', string.format('%.0f', now),
            'unannounced', '1')
          redis.call('SET', KEYS[8], time[1] .. string.format('%06d', time[2]))
        end
      end
      return {unannounced(KEYS[2])}
      """)
}

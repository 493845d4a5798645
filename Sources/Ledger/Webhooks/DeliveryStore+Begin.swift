public import Domain
import EventLoop
import Redis
import Store

/// Whether an attempt may be made now.
public enum AttemptPermission: Sendable, Equatable {
  /// Yes; a slot is taken until it is finished, or until its lease ends.
  case go
  /// The endpoint's rate is used up; there will be room after this long.
  case planned(after: Duration)
  /// As many attempts are under way as the endpoint allows.
  case full
  /// This very attempt is under way somewhere.
  case underWay
  /// This very attempt was made, and its end was recorded; what follows from it may not have been done yet.
  case made(DeliveryAttempt.Outcome, nextAt: Int64?)
  /// Nothing is left to do: a later attempt of the round was made, or the event was delivered, by this round or another
  /// one, and nobody has asked by name for more since.
  case superseded
  /// Nothing may be sent.
  case disabled
  /// The endpoint was deleted.
  case gone
}

/// What Redis says before an attempt.
public struct AttemptBeginning: Sendable, Equatable {
  public let permission: AttemptPermission
  /// The health of an endpoint that was disabled and has not been announced.
  public let unannounced: EndpointHealth?
  /// Redis' time, in milliseconds since 1970.
  public let now: Int64
}

extension DeliveryStore {
  /// Asks for an attempt, and takes its slot when it may be made.
  ///
  /// - Parameter lease: how long the slot stays taken by a notifier that does not say anything more.
  public func begin(
    _ delivery: Delivery, to endpoint: WebhookEndpoint, lease: Duration
  ) async throws -> AttemptBeginning {
    let publisher = delivery.publisherId
    let reply = try await redis.run(
      .begin,
      keys: [
        keys.webhook(publisher, endpoint.id), keys.webhookHealth(publisher, endpoint.id),
        keys.event(publisher, delivery.eventId), keys.slots(publisher, endpoint.id),
        keys.pace(publisher, endpoint.id), keys.plans(publisher, endpoint.id),
      ],
      arguments: [
        endpoint.source == .configuration ? "1" : "0", endpoint.id, delivery.round, String(delivery.attempt),
        Self.slot(delivery),
        String(lease.wholeMilliseconds), String(endpoint.maxConcurrency), String(endpoint.maxPerSecond ?? 0),
        delivery.isPlanned ? "1" : "0", delivery.isAskedByName ? "1" : "0",
      ])
    guard let parts = reply.array, let word = parts.first?.string, parts.count >= 7, let now = parts[3].integer else {
      throw unexpected(reply, "begin")
    }
    let permission: AttemptPermission
    switch word {
    case "go": permission = .go
    case "planned": permission = .planned(after: .milliseconds(parts[1].integer ?? 1000))
    case "full": permission = .full
    case "under way": permission = .underWay
    case "superseded": permission = .superseded
    case "disabled": permission = .disabled
    case "gone": permission = .gone
    case "made":
      guard let outcome = parts[1].string.flatMap(DeliveryAttempt.Outcome.init) else {
        throw unexpected(reply, "begin")
      }
      permission = .made(outcome, nextAt: parts[2].integer)
    default: throw unexpected(reply, "begin")
    }
    return AttemptBeginning(permission: permission, unannounced: EndpointHealth(unannounced: parts[4...]), now: now)
  }

  /// Keeps the slots of attempts that take long; one that was lost is not taken again.
  public func renew(_ held: [(delivery: Delivery, endpoint: String)], lease: Duration) async throws {
    _ = try await redis.run(
      .renewSlots, keys: held.map { keys.slots($0.delivery.publisherId, $0.endpoint) },
      arguments: [String(lease.wholeMilliseconds)] + held.map { Self.slot($0.delivery) })
  }

  /// Gives the slot of an attempt back that was broken off.
  public func release(_ delivery: Delivery, to endpoint: String) async throws {
    _ = try await redis.send(["ZREM", keys.slots(delivery.publisherId, endpoint), Self.slot(delivery)])
  }

  /// Names an attempt, so that of two copies of a message one waits for the other.
  static func slot(_ delivery: Delivery) -> String { "\(delivery.eventId)/\(delivery.round)/\(delivery.attempt)" }
}

extension EndpointHealth {
  /// Reads what scripts tell of an endpoint that was disabled and not announced; `nil` when there is none.
  init?(unannounced parts: ArraySlice<RESPValue>) {
    let parts = Array(parts)
    guard parts.count >= 3, let reason = parts[0].string.flatMap(Reason.init), let at = parts[1].integer else {
      return nil
    }
    self.init(disabled: Disabled(reason: reason, at: at), failingSince: parts[2].integer)
  }
}

extension RedisScript {
  /// Lua: `unannounced(key)` returns reason, time and begin of the failures of an endpoint that was disabled and whose
  /// event was not published yet; empty texts otherwise.
  static let unannouncedFunction = """
    local function unannounced(key)
      local health = redis.call('HMGET', key, 'unannounced', 'disabled_reason', 'disabled_at', 'failing_since')
      if health[1] and health[2] then return health[2], health[3], health[4] or '' end
      return '', '', ''
    end

    """

  /// What was delivered is consulted first: `done:` counts how often it was, and each round remembers at which count it
  /// began. Only what was asked for by name goes on behind a delivery, and only behind one that was before it.
  ///
  /// The rate is a generic cell rate algorithm with room for a tenth of a second. What finds no room is planned: each
  /// later than the one before, so that none comes in vain, and nothing new overtakes what is planned. A copy of a message
  /// gets the same time, so that only what will be sent has a turn. Another rate makes new plans.
  fileprivate static let begin = RedisScript(
    "begin",
    unannouncedFunction + """
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      local function answer(word, one, two)
        return {word, one or '', two or '', now, unannounced(KEYS[2])}
      end
      local done = redis.call('HGET', KEYS[3], 'done:' .. ARGV[2])
      local last = redis.call('HGET', KEYS[3], 'made:' .. ARGV[2] .. '/' .. ARGV[3])
      local attempt, outcome, due, seen
      if last then attempt, outcome, due, seen = string.match(last, '^(%d+) (%a+) (%d*) (%d+)$') end
      local later = last and tonumber(attempt) - tonumber(ARGV[4]) or -1
      if later == 0 and outcome == 'delivered' then return answer('made', outcome) end
      if done and (ARGV[10] == '0' or last and seen ~= done) then return answer('superseded') end
      if later == 0 then return answer('made', outcome, due) end
      if later > 0 then return answer('superseded') end
      if ARGV[1] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return answer('gone') end
      if redis.call('HEXISTS', KEYS[2], 'disabled_reason') == 1 then return answer('disabled') end
      redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
      if redis.call('ZSCORE', KEYS[4], ARGV[5]) then return answer('under way') end
      if redis.call('ZCARD', KEYS[4]) >= tonumber(ARGV[7]) then return answer('full') end
      local rate = tonumber(ARGV[8])
      if rate > 0 then
        local micros = time[1] * 1000000 + time[2]
        local interval = 1000000 / rate
        local pace = redis.call('HMGET', KEYS[5], 'used', 'planned', 'rate')
        local used = math.max(tonumber(pace[1] or 0), micros)
        local planned = tonumber(pace[2] or 0)
        if pace[3] and pace[3] ~= ARGV[8] then
          used, planned = math.min(used, micros + interval), 0
          redis.call('DEL', KEYS[6])
        end
        redis.call('ZREMRANGEBYSCORE', KEYS[6], '-inf', string.format('%.0f', micros - 60000000))
        local own = tonumber(redis.call('ZSCORE', KEYS[6], ARGV[5]) or 0)
        local isPlanned = ARGV[9] == '1' or own > 0 and own <= micros
        local hasRoom = used + interval - micros <= math.max(100000, interval)
        local plan
        if hasRoom and (isPlanned or planned <= micros) then
          used = used + interval
          redis.call('ZREM', KEYS[6], ARGV[5])
        elseif own > micros then
          plan = own
        else
          planned = math.max(planned, used) + interval
          plan = planned
          redis.call('ZADD', KEYS[6], string.format('%.0f', plan), ARGV[5])
        end
        redis.call('HSET', KEYS[5], 'used', string.format('%.0f', used), 'planned', string.format('%.0f', planned),
          'rate', ARGV[8])
        local kept = math.ceil((math.max(planned, used) - micros) / 1000) + 60000
        redis.call('PEXPIRE', KEYS[5], kept)
        redis.call('PEXPIRE', KEYS[6], kept)
        if plan then return answer('planned', math.ceil((plan - micros) / 1000)) end
      end
      redis.call('ZADD', KEYS[4], now + ARGV[6], ARGV[5])
      redis.call('PEXPIRE', KEYS[4], 600000)
      return answer('go')
      """)

  fileprivate static let renewSlots = RedisScript(
    "renew slots",
    """
    local time = redis.call('TIME')
    local leased = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
    for index, key in ipairs(KEYS) do redis.call('ZADD', key, 'XX', leased, ARGV[index + 1]) end
    return #KEYS
    """)
}

public import Domain
import EventLoop
import Redis
import Store

/// Whether a notifier may make an attempt now.
public enum AttemptPermission: Sendable, Equatable {
  /// Yes. The attempt has a slot until it ends, or until its lease ends.
  case go
  /// The endpoint's rate is used up. It will have room after this long.
  case planned(after: Duration)
  /// As many attempts are under way as the endpoint allows.
  case full
  /// This very attempt is under way somewhere.
  case underWay
  /// A notifier made this very attempt and recorded its end. The steps that follow from it may still be missing.
  case made(DeliveryAttempt.Outcome, nextAt: Int64?)
  /// Nothing remains to do: a later attempt of the round was made, or the event was delivered, by this round or another
  /// one. Since then nobody has asked for more by name.
  case superseded
  /// The endpoint is disabled. It gets nothing.
  case disabled
  /// The endpoint was deleted.
  case gone
}

/// Redis' answer before an attempt.
public struct AttemptBeginning: Sendable, Equatable {
  public let permission: AttemptPermission
  /// The health of a disabled endpoint, if nobody has announced it yet.
  public let unannounced: EndpointHealth?
  /// Redis' time, in milliseconds since 1970.
  public let now: Int64
}

extension DeliveryStore {
  /// Asks for an attempt, and takes its slot when the notifier may make it.
  ///
  /// - Parameter lease: how long a notifier that falls silent keeps the slot.
  public func begin(
    _ delivery: Delivery, to endpoint: WebhookEndpoint, lease: Duration
  ) async throws -> AttemptBeginning {
    let publisher = delivery.publisherId
    let reply = try await redis.run(
      .begin,
      keys: [
        "webhookKey": keys.webhook(publisher, endpoint.id), "healthKey": keys.webhookHealth(publisher, endpoint.id),
        "eventKey": keys.event(publisher, delivery.eventId), "slotsKey": keys.slots(publisher, endpoint.id),
        "paceKey": keys.pace(publisher, endpoint.id), "plansKey": keys.plans(publisher, endpoint.id),
      ],
      arguments: [
        "isConfigured": endpoint.source == .configuration ? "1" : "0", "endpoint": endpoint.id,
        "round": delivery.round, "attempt": String(delivery.attempt), "slot": Self.slot(delivery),
        "lease": String(lease.wholeMilliseconds), "maxConcurrency": String(endpoint.maxConcurrency),
        "maxPerSecond": String(endpoint.maxPerSecond ?? 0), "isPlanned": delivery.isPlanned ? "1" : "0",
        "isAskedByName": delivery.isAskedByName ? "1" : "0",
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

  /// Keeps the slots of attempts that take long. It does not take a lost slot again.
  public func renew(_ held: [(delivery: Delivery, endpoint: String)], lease: Duration) async throws {
    _ = try await redis.run(
      .renewSlots, moreKeys: held.map { keys.slots($0.delivery.publisherId, $0.endpoint) },
      arguments: ["lease": String(lease.wholeMilliseconds)], moreArguments: held.map { Self.slot($0.delivery) })
  }

  /// Gives back the slot of an attempt that the notifier broke off.
  public func release(_ delivery: Delivery, to endpoint: String) async throws {
    _ = try await redis.send(["ZREM", keys.slots(delivery.publisherId, endpoint), Self.slot(delivery)])
  }

  /// Names an attempt, so that two copies of a message wait for each other.
  static func slot(_ delivery: Delivery) -> String { "\(delivery.eventId)/\(delivery.round)/\(delivery.attempt)" }
}

extension EndpointHealth {
  /// Reads the reply of a script about a disabled endpoint that nobody has announced; `nil` when there is none.
  init?(unannounced parts: ArraySlice<RESPValue>) {
    let parts = Array(parts)
    guard parts.count >= 3, let reason = parts[0].string.flatMap(Reason.init), let at = parts[1].integer else {
      return nil
    }
    self.init(disabled: Disabled(reason: reason, at: at), failingSince: parts[2].integer)
  }
}

extension LuaFunction {
  /// Lua: `unannounced(key)` returns reason, time and begin of the failures of a disabled endpoint whose event is not
  /// yet published. Otherwise it returns empty texts.
  static let unannounced = LuaFunction(
    """
    local function unannounced(key)
      local health = redis.call('HMGET', key, 'unannounced', 'disabled_reason', 'disabled_at', 'failing_since')
      if health[1] and health[2] then return health[2], health[3], health[4] or '' end
      return '', '', ''
    end
    """)
}

extension RedisScript {
  /// The script looks first at the deliveries already made.
  ///
  /// `done:` counts the deliveries of the event, and each round remembers that count from its begin. After a delivery
  /// only a round that somebody asked for by name goes on, and only if the delivery came before the round.
  ///
  /// The rate has room for a tenth of a second. An attempt that finds no room gets a planned time, each later than the
  /// one before. So no attempt comes in vain, and no new attempt overtakes a planned one. A copy of a message gets the
  /// same time. So only an attempt that the notifier will make has a turn. A changed rate makes new plans.
  fileprivate static let begin = RedisScript(
    "begin", functions: [.clock, .newer, .pace, .unannounced],
    keys: ["webhookKey", "healthKey", "eventKey", "slotsKey", "paceKey", "plansKey"],
    arguments: [
      "isConfigured", "endpoint", "round", "attempt", "slot", "lease", "maxConcurrency", "maxPerSecond", "isPlanned",
      "isAskedByName",
    ],
    """
    local now, micros = clock()
    local function answer(word, one, two)
      return {word, one or '', two or '', now, unannounced(healthKey)}
    end

    -- Returns the answer for an attempt that was made before, or that is not needed any more.
    local function before(done, last)
      local number, outcome, due, seen
      if last then number, outcome, due, seen = string.match(last, '^(%d+) (%a+) (%d*) (%d+)$') end
      local later = last and tonumber(number) - tonumber(attempt) or -1
      if later == 0 and outcome == 'delivered' then return 'made', outcome end
      if done and (isAskedByName == '0' or last and seen ~= done) then return 'superseded' end
      if later == 0 then return 'made', outcome, due end
      if later > 0 then return 'superseded' end
    end

    -- Takes an attempt out of the endpoint's rate, or returns the milliseconds until its turn.
    local function plan()
      local interval = 1000000 / maxPerSecond
      local kept = redis.call('HMGET', paceKey, 'used', 'planned', 'rate')
      local used, planned = math.max(tonumber(kept[1] or 0), micros), tonumber(kept[2] or 0)
      if kept[3] and kept[3] ~= maxPerSecond then
        used, planned = math.min(used, micros + interval), 0
        redis.call('DEL', plansKey)
      end
      redis.call('ZREMRANGEBYSCORE', plansKey, '-inf', string.format('%.0f', micros - 60000000))
      local own = tonumber(redis.call('ZSCORE', plansKey, slot) or 0)
      local hasTurn = isPlanned == '1' or own > 0 and own <= micros
      local after, wait = pace(used, micros, interval, math.max(100000, interval), 1)
      local turn
      if wait <= 0 and (hasTurn or planned <= micros) then
        used = after
        redis.call('ZREM', plansKey, slot)
      elseif own > micros then
        turn = own
      else
        planned = math.max(planned, used) + interval
        turn = planned
        redis.call('ZADD', plansKey, string.format('%.0f', turn), slot)
      end
      redis.call('HSET', paceKey, 'used', string.format('%.0f', used), 'planned', string.format('%.0f', planned),
        'rate', maxPerSecond)
      local expiry = math.ceil((math.max(planned, used) - micros) / 1000) + 60000
      redis.call('PEXPIRE', paceKey, expiry)
      redis.call('PEXPIRE', plansKey, expiry)
      return turn and math.ceil((turn - micros) / 1000)
    end

    local known = redis.call('HMGET', eventKey, 'done:' .. endpoint, 'made:' .. endpoint .. '/' .. round,
      'recordVersion')
    local health = redis.call('HMGET', healthKey, 'disabled_reason', 'recordVersion')
    local refusal = newer(eventKey, known[3]) or newer(healthKey, health[2])
    if refusal then return refusal end
    local word, one, two = before(known[1], known[2])
    if word then return answer(word, one, two) end
    if isConfigured == '0' and redis.call('EXISTS', webhookKey) == 0 then return answer('gone') end
    if health[1] then return answer('disabled') end
    redis.call('ZREMRANGEBYSCORE', slotsKey, '-inf', now)
    if redis.call('ZSCORE', slotsKey, slot) then return answer('under way') end
    if redis.call('ZCARD', slotsKey) >= tonumber(maxConcurrency) then return answer('full') end
    local wait = tonumber(maxPerSecond) > 0 and plan()
    if wait then return answer('planned', wait) end
    redis.call('ZADD', slotsKey, now + lease, slot)
    redis.call('PEXPIRE', slotsKey, 600000)
    return answer('go')
    """)

  fileprivate static let renewSlots = RedisScript(
    "renew slots", functions: [.clock], moreKeys: "firstSlots", arguments: ["lease"], moreArguments: "firstSlot",
    """
    local leased = clock() + lease
    for number = 0, #KEYS - firstSlots do
      redis.call('ZADD', KEYS[firstSlots + number], 'XX', leased, ARGV[firstSlot + number])
    end
    return #KEYS
    """)
}

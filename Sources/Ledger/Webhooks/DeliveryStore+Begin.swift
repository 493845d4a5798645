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

  /// Keeps the slots of attempts that take long; one that was lost is not taken again.
  public func renew(_ held: [(delivery: Delivery, endpoint: String)], lease: Duration) async throws {
    _ = try await redis.run(
      .renewSlots, moreKeys: held.map { keys.slots($0.delivery.publisherId, $0.endpoint) },
      arguments: ["lease": String(lease.wholeMilliseconds)], moreArguments: held.map { Self.slot($0.delivery) })
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

extension LuaFunction {
  /// Lua: `unannounced(key)` returns reason, time and begin of the failures of an endpoint that was disabled and whose
  /// event was not published yet; empty texts otherwise.
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
  /// What was delivered is consulted first: `done:` counts how often it was, and each round remembers at which count it
  /// began. Only what was asked for by name goes on behind a delivery, and only behind one that was before it.
  ///
  /// The rate has room for a tenth of a second. What finds no room is planned: each later than the one before, so
  /// that none comes in vain, and nothing new overtakes what is planned. A copy of a message gets the same time, so
  /// that only what will be sent has a turn. Another rate makes new plans.
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

    -- Returns the answer of an attempt that was made before, or that is not needed any more.
    local function before(done, last)
      local number, outcome, due, seen
      if last then number, outcome, due, seen = string.match(last, '^(%d+) (%a+) (%d*) (%d+)$') end
      local later = last and tonumber(number) - tonumber(attempt) or -1
      if later == 0 and outcome == 'delivered' then return 'made', outcome end
      if done and (isAskedByName == '0' or last and seen ~= done) then return 'superseded' end
      if later == 0 then return 'made', outcome, due end
      if later > 0 then return 'superseded' end
    end

    -- Takes an attempt out of the endpoint's rate, or returns the milliseconds after which it has its turn.
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

public import Domain
public import EventLoop
public import Redis

/// How many attempts the whole fleet makes at an endpoint at a time and in a second, in Redis.
///
/// Redis only coordinates: if it is wiped, each endpoint may once get more attempts at a time than it allows. Every
/// method throws `RedisError`. After an error the script may have run or not. Every script may run again.
@LoopActor
public final class EndpointPacing {
  let redis: RedisClient
  let keys: Keys

  /// Creates the pacing over a client, with the configured prefix of all keys.
  public init(_ redis: RedisClient, prefix: String) {
    self.redis = redis
    keys = Keys(prefix: prefix)
  }
}

/// An attempt that is under way, and has a slot of its endpoint.
public struct HeldSlot: Sendable {
  public let delivery: Delivery
  public let endpoint: EndpointId

  /// Names the slot of an attempt.
  public init(_ delivery: Delivery, at endpoint: EndpointId) {
    self.delivery = delivery
    self.endpoint = endpoint
  }
}

/// Whether an endpoint's limits allow an attempt now.
public enum AttemptSlot: Sendable, Equatable {
  /// Yes. The attempt has a slot until it ends, or until its lease ends.
  case taken
  /// The endpoint's rate is used up. It will have room after this long.
  case planned(after: Duration)
  /// As many attempts are under way as the endpoint allows.
  case full
  /// This very attempt is under way somewhere.
  case underWay
}

extension EndpointPacing {
  /// Takes a slot for an attempt, if the endpoint's limits allow it now.
  ///
  /// - Parameter lease: how long a notifier that falls silent keeps the slot.
  /// - Returns: the answer, and Redis' time in milliseconds since 1970.
  public func take(
    _ delivery: Delivery, at endpoint: WebhookEndpoint, lease: Duration
  ) async throws -> (slot: AttemptSlot, now: Int64) {
    let publisher = delivery.publisherId
    let reply = try await redis.run(
      .takeSlot,
      keys: [
        "slotsKey": keys.slots(publisher, endpoint.id), "paceKey": keys.pace(publisher, endpoint.id),
        "plansKey": keys.plans(publisher, endpoint.id),
      ],
      arguments: [
        "slot": Self.slot(delivery), "lease": String(lease.wholeMilliseconds),
        "maxConcurrency": String(endpoint.maxConcurrency), "maxPerSecond": String(endpoint.maxPerSecond ?? 0),
        "isPlanned": delivery.isPlanned ? "1" : "0",
      ])
    guard let parts = reply.array, parts.count == 3, let word = parts[0].string, let wait = parts[1].wait(),
      let now = parts[2].integer
    else { throw RedisError.unexpected(reply, "take slot") }
    switch word {
    case "taken": return (.taken, now)
    case "planned": return (.planned(after: wait), now)
    case "full": return (.full, now)
    case "under way": return (.underWay, now)
    default: throw RedisError.unexpected(reply, "take slot")
    }
  }

  /// Keeps the slots of attempts that take long. It does not take a lost slot again.
  public func renew(_ held: [HeldSlot], lease: Duration) async throws {
    _ = try await redis.run(
      .renewSlots, moreKeys: held.map { keys.slots($0.delivery.publisherId, $0.endpoint) },
      arguments: ["lease": String(lease.wholeMilliseconds)], moreArguments: held.map { Self.slot($0.delivery) })
  }

  /// Gives back the slot of an attempt that has ended.
  public func release(_ delivery: Delivery, at endpoint: EndpointId) async throws {
    _ = try await redis.send(["ZREM", keys.slots(delivery.publisherId, endpoint), Self.slot(delivery)])
  }

  /// Forgets the limits of a deleted endpoint.
  public func forget(publisher: PublisherId, endpoint: EndpointId) async throws {
    _ = try await redis.send([
      "UNLINK", keys.slots(publisher, endpoint), keys.pace(publisher, endpoint), keys.plans(publisher, endpoint),
    ])
  }

  /// Names an attempt, so that two copies of a message wait for each other.
  private static func slot(_ delivery: Delivery) -> String {
    "\(delivery.eventId)/\(delivery.round)/\(delivery.attempt)"
  }
}

extension RedisScript {
  /// The rate has room for a tenth of a second. An attempt that finds no room gets a planned time, each later than the
  /// one before. So no attempt comes in vain, and no new attempt overtakes a planned one. A copy of a message gets the
  /// same time. So only an attempt that the notifier will make has a turn. A changed rate makes new plans.
  ///
  /// Slots whose lease is over are taken away when their places are needed. The first slot sets the expiry of the set,
  /// and some of the later ones do. If a set expires too early, its endpoint may once get more attempts at a time.
  fileprivate static let takeSlot = RedisScript(
    "take slot", functions: [.clock, .pace], keys: ["slotsKey", "paceKey", "plansKey"],
    arguments: ["slot", "lease", "maxConcurrency", "maxPerSecond", "isPlanned"],
    """
    local now, micros = clock()

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

    local own = redis.call('ZSCORE', slotsKey, slot)
    if own and tonumber(own) > now then return {'under way', 0, now} end
    local taken = redis.call('ZCARD', slotsKey)
    if taken >= tonumber(maxConcurrency) then
      redis.call('ZREMRANGEBYSCORE', slotsKey, '-inf', now)
      taken = redis.call('ZCARD', slotsKey)
      if taken >= tonumber(maxConcurrency) then return {'full', 0, now} end
    end
    local wait = tonumber(maxPerSecond) > 0 and plan()
    if wait then return {'planned', wait, now} end
    redis.call('ZADD', slotsKey, now + lease, slot)
    if taken == 0 or micros % 16 == 0 then redis.call('PEXPIRE', slotsKey, 600000) end
    return {'taken', 0, now}
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

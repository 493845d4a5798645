import Domain
import Redis

/// The counts behind the limits of publishers and customers.
///
/// - `limits`, a hash: for each publisher `open:PUBLISHER`, how many of its synchronizations are not finalized, and
///   `rate:PUBLISHER`, until when its rate is used up, in microseconds. Both are one trip within the script, because
///   each registration needs both.
/// - `open:PUBLISHER:CUSTOMER`, a set: the synchronizations of a customer that are not finalized.
/// - `rate:PUBLISHER:CUSTOMER`, a string: until when the customer's rate is used up, in microseconds.
extension LuaFunction {
  /// Lua: `noteOpen(limitsKey, customerOpenKey, publisher, countsForCustomer, member)` counts a synchronization that
  /// begins; `noteOpenOfCustomer(customerOpenKey, countsForCustomer, member)` counts it for its customer only.
  ///
  /// `noteClosed(limitsKey, customerOpenKey, publisher, member)` counts one that has ended;
  /// `countClosed(limitsKey, publisher, count)` counts several of a publisher, without their customers.
  static let openCounts = LuaFunction(
    """
    local function noteOpenOfCustomer(customerOpenKey, countsForCustomer, member)
      if countsForCustomer == '1' then redis.call('SADD', customerOpenKey, member) end
    end
    local function noteOpen(limitsKey, customerOpenKey, publisher, countsForCustomer, member)
      redis.call('HINCRBY', limitsKey, 'open:' .. publisher, 1)
      noteOpenOfCustomer(customerOpenKey, countsForCustomer, member)
    end
    local function countClosed(limitsKey, publisher, count)
      if redis.call('HINCRBY', limitsKey, 'open:' .. publisher, -count) <= 0 then
        redis.call('HDEL', limitsKey, 'open:' .. publisher)
      end
    end
    local function noteClosed(limitsKey, customerOpenKey, publisher, member)
      redis.call('SREM', customerOpenKey, member)
      countClosed(limitsKey, publisher, 1)
    end
    """)

  /// Lua: `exceededRate(used, rate, room, now)` returns how many milliseconds one more registration must wait for a
  /// rate, and the use of the rate with it, as a text.
  ///
  /// `noteRate(key, used, now)` keeps that use in a key of its own. All other times are in microseconds. The functions
  /// need ``pace``.
  static let rates = LuaFunction(
    """
    local function exceededRate(used, rate, room, now)
      local after, wait = pace(used, now, 1000000 / rate, room, 1)
      return math.ceil(wait / 1000), string.format('%.0f', after)
    end
    local function noteRate(key, used, now)
      redis.call('SET', key, used, 'PX', math.max(1, math.ceil((used - now) / 1000)))
    end
    """)

  /// Lua: `exceededCount(open, customerOpenKey, prefix, mostOfCustomer, mostOfPublisher)` returns the name of the limit
  /// that one more open synchronization exceeds. If there is none, it returns `false` and how many the publisher has,
  /// `open` in the hash. Without a customer's key it asks for the publisher's only.
  ///
  /// A process of an earlier version ends synchronizations without counting them. So whoever meets a limit looks
  /// whether some of a customer's are still open, and that no publisher has more than all publishers together.
  static let exceededCount = LuaFunction(
    """
    local function exceededCount(open, customerOpenKey, prefix, mostOfCustomer, mostOfPublisher)
      if customerOpenKey and redis.call('SCARD', customerOpenKey) >= tonumber(mostOfCustomer) then
        for _, member in ipairs(redis.call('SRANDMEMBER', customerOpenKey, 10)) do
          local status = redis.call('HGET', prefix .. 'sync:' .. member, 'status')
          if not status or status == 'finalized' then redis.call('SREM', customerOpenKey, member) end
        end
        if redis.call('SCARD', customerOpenKey) >= tonumber(mostOfCustomer) then
          return '\(Limit.customerOpen.rawValue)'
        end
      end
      open = tonumber(open or 0)
      if open >= tonumber(mostOfPublisher) then
        local all = redis.call('ZCARD', prefix .. 'open') + redis.call('ZCARD', prefix .. 'open:bulk')
        open = math.min(open, all)
        if open >= tonumber(mostOfPublisher) then return '\(Limit.publisherOpen.rawValue)' end
      end
      return false, open
    end
    """)
}

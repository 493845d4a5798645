import Redis

/// The counts behind the limits of publishers and customers.
///
/// - `limits`, a hash: for each publisher `open:PUBLISHER`, how many of its synchronizations are not finalized, and
///   `rate:PUBLISHER`, until when its rate is used up, in microseconds.
/// - `open:PUBLISHER:CUSTOMER`, a set: the synchronizations of a customer that are not finalized.
/// - `rate:PUBLISHER:CUSTOMER`, a string: as for a publisher.
extension LuaFunction {
  /// Lua: `noteOpen(limitsKey, customerOpenKey, publisher, customer, member)` counts a synchronization that begins.
  ///
  /// `noteClosed(limitsKey, customerOpenKey, publisher, member)` counts one that has ended.
  static let openCounts = LuaFunction(
    """
    local function noteOpen(limitsKey, customerOpenKey, publisher, customer, member)
      redis.call('HINCRBY', limitsKey, 'open:' .. publisher, 1)
      if customer ~= '' then redis.call('SADD', customerOpenKey, member) end
    end
    local function noteClosed(limitsKey, customerOpenKey, publisher, member)
      redis.call('SREM', customerOpenKey, member)
      if redis.call('HINCRBY', limitsKey, 'open:' .. publisher, -1) <= 0 then
        redis.call('HDEL', limitsKey, 'open:' .. publisher)
      end
    end
    """)

  /// Lua: `exceededRate(limitsKey, customerRateKey, publisher, rate, customerRate, now)` returns the name of the limit
  /// that one more registration exceeds, and the milliseconds to wait; or nothing, and counts it.
  ///
  /// A customer's rate of 0 asks nothing. `now` is in microseconds. The function needs ``pace``.
  static let exceededRate = LuaFunction(
    """
    local function exceededRate(limitsKey, customerRateKey, publisher, rate, customerRate, now)
      local field = 'rate:' .. publisher
      local used, wait = pace(redis.call('HGET', limitsKey, field), now, 1000000 / rate, 1000000, 1)
      if wait > 0 then return 'publisher_rate', math.ceil(wait / 1000) end
      if tonumber(customerRate) > 0 then
        local usedByCustomer, waitOfCustomer =
          pace(redis.call('GET', customerRateKey), now, 1000000 / customerRate, 10000000, 1)
        if waitOfCustomer > 0 then return 'customer_rate', math.ceil(waitOfCustomer / 1000) end
        redis.call('SET', customerRateKey, string.format('%.0f', usedByCustomer), 'PX',
          math.max(1, math.ceil((usedByCustomer - now) / 1000)))
      end
      redis.call('HSET', limitsKey, field, string.format('%.0f', used))
    end
    """)

  /// Lua: `exceededCount(limitsKey, customerOpenKey, openKey, prefix, publisher, mostOfCustomer, mostOfPublisher)`
  /// returns the name of the limit that one more open synchronization exceeds, or nothing.
  ///
  /// A process of an earlier version ends synchronizations without counting them. So whoever meets a limit looks which
  /// of a customer's are still open, and that no publisher has more than all publishers together.
  static let exceededCount = LuaFunction(
    """
    local function exceededCount(limitsKey, customerOpenKey, openKey, prefix, publisher, mostOfCustomer, mostOfPublisher)
      if redis.call('SCARD', customerOpenKey) >= tonumber(mostOfCustomer) then
        for _, member in ipairs(redis.call('SMEMBERS', customerOpenKey)) do
          local status = redis.call('HGET', prefix .. 'sync:' .. member, 'status')
          if not status or status == 'finalized' then redis.call('SREM', customerOpenKey, member) end
        end
        if redis.call('SCARD', customerOpenKey) >= tonumber(mostOfCustomer) then return 'customer_open' end
      end
      local field = 'open:' .. publisher
      local open = tonumber(redis.call('HGET', limitsKey, field) or 0)
      if open >= tonumber(mostOfPublisher) then
        local all = redis.call('ZCARD', openKey)
        if all < open then
          redis.call('HSET', limitsKey, field, all)
          open = all
        end
        if open >= tonumber(mostOfPublisher) then return 'publisher_open' end
      end
    end
    """)
}

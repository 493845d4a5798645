import Redis

extension LuaFunction {
  /// Lua: `grant(key, place, budgets, now)` returns an endpoint, or an empty text and the milliseconds to wait.
  ///
  /// Each budget is an endpoint and its calls per second; `now` is in microseconds. The function needs ``pace``. A
  /// budget has room for the calls of one second, or for one call where that is more.
  static let grant = LuaFunction(
    """
    local function grant(key, place, budgets, now)
      local soonest
      for _, budget in ipairs(budgets) do
        local endpoint, rate = budget[1], budget[2]
        local name = place .. '|' .. endpoint
        local known = redis.call('HMGET', key, name, 'pause:' .. name)
        local interval = 1000000 / rate
        local used, wait = pace(known[1], now, interval, math.max(1000000, interval), 1)
        wait = math.max(wait, tonumber(known[2] or 0) - now)
        if wait <= 0 then
          redis.call('HSET', key, name, string.format('%.0f', used))
          return endpoint, 0
        end
        soonest = math.min(soonest or wait, wait)
      end
      return '', math.ceil((soonest or 1000000) / 1000)
    end
    """)

  /// Lua: `grantLater(key, place, budgets, now, urgency, isAwaited)` does the same for a call that nobody waits for.
  ///
  /// It takes what is left: while nobody is in the line, a call as long as a part of a second's calls stays in the
  /// budget. A part of the budget is its own, so it never starves. With the urgency `later` half of a second's calls
  /// stay, and a tenth is its own; with `bulk`, which yields to it, three quarters stay, and a twentieth is its own.
  static let grantLater = LuaFunction(
    """
    local function grantLater(key, place, budgets, now, urgency, isAwaited)
      local soonest
      local stays, part = 0.5, 10
      if urgency == 'bulk' then stays, part = 0.75, 20 end
      for _, budget in ipairs(budgets) do
        local endpoint, rate = budget[1], budget[2]
        local name = place .. '|' .. endpoint
        local known = redis.call('HMGET', key, name, 'pause:' .. name, urgency .. ':' .. name)
        local interval = 1000000 / rate
        local room = math.max(1000000, interval)
        local pause = tonumber(known[2] or 0) - now
        local used = pace(known[1], now, interval, room, 1)
        local left = used - now - math.max(interval, room * (1 - stays))
        if not isAwaited and math.max(left, pause) <= 0 then
          redis.call('HSET', key, name, string.format('%.0f', used))
          return endpoint, 0
        end
        local own, wait = pace(known[3], now, part * interval, part * interval, 1)
        if math.max(wait, pause) <= 0 then
          redis.call('HSET', key, name, string.format('%.0f', used), urgency .. ':' .. name, string.format('%.0f', own))
          return endpoint, 0
        end
        if not isAwaited then wait = math.min(wait, left) end
        wait = math.max(wait, pause)
        soonest = math.min(soonest or wait, wait)
      end
      return '', math.ceil((soonest or 1000000) / 1000)
    end
    """)
}

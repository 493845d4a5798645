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
}

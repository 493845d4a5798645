package import Redis

extension LuaFunction {
  /// Lua: `clock()` returns Redis' time in milliseconds and in microseconds, both since 1970.
  package static let clock = LuaFunction(
    """
    local function clock()
      local time = redis.call('TIME')
      local micros = time[1] * 1000000 + time[2]
      return math.floor(micros / 1000), micros
    end
    """)
}

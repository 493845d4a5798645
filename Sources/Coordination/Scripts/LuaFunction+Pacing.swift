package import Redis

extension LuaFunction {
  /// Lua: `pace(used, now, interval, room, count)` is the generic cell rate algorithm, with all times in microseconds.
  ///
  /// One time, `used`, stands for a rate: the rate is used up until then. One more costs `interval`, and `used` may
  /// lie ahead of `now` by `room`. The function returns `used` after `count` more, and how long these must wait. If
  /// they need not wait (at most 0), the caller keeps the new `used`.
  package static let pace = LuaFunction(
    """
    local function pace(used, now, interval, room, count)
      local after = math.min(math.max(tonumber(used or 0), now), now + room) + interval * count
      return after, after - now - room
    end
    """)
}

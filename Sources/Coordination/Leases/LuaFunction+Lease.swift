import Redis

extension LuaFunction {
  /// Lua: `giveLease(transactionKey, synchronizationKey, kept, micros, crashes, duration, place, endpoint, deliveries,
  /// held)` gives the lease on a transaction with its next fencing number, and returns the answer about it.
  ///
  /// `kept` is the text of the transaction's record, and `micros` Redis' time in microseconds. `place` and `endpoint`
  /// are those of the call that the run may make. The function needs ``readRecord`` and ``writeRecord``.
  static let giveLease = LuaFunction(
    """
    local function giveLease(transactionKey, synchronizationKey, kept, micros, crashes, duration, place, endpoint,
        deliveries, held)
      local millis = math.floor(micros / 1000)
      local last, _, freshUntil, original, environment, route = readRecord(kept)
      local isFresh = tonumber(freshUntil) > millis
      if not isFresh then freshUntil, original, environment = '0', '', '' end
      local fence = string.format('%.0f', math.max(micros, last + 1))
      redis.call('SET', transactionKey,
        writeRecord(fence, millis + duration, freshUntil, original, environment, route))
      redis.call('HSET', synchronizationKey, 'fence', fence, 'held', held, 'crashes', crashes, 'deliveries', deliveries)
      return {'taken', fence, route, string.format('%.0f', millis), crashes, place, endpoint, isFresh and original,
        isFresh and environment, tonumber(deliveries)}
    end
    """)
}

import Redis

/// The record of a transaction in Redis, one string: six fields, with a unit separator (ASCII 31) between two.
///
/// 1. the last fencing number given out,
/// 2. until when its lease lasts, in milliseconds; 0 once it has ended,
/// 3. until when the next two fields hold, in milliseconds,
/// 4. and 5. the purchase about which Apple has spoken a moment ago: originalTransactionId, environment,
/// 6. the `AppleRoute`, with Apple's answers while a job waits for its next call.
///
/// The record is one key instead of four: a script's command costs Redis some 4 us, and as much again when it writes.
extension LuaFunction {
  /// Lua: `readRecord(text)` returns the fields of a record. Without a record (`false`) it returns the fields of an
  /// unknown transaction.
  static let readRecord = LuaFunction(
    """
    local function readRecord(text)
      if not text then return '0', '0', '0', '', '', '' end
      return string.match(text,
        '^(%d+)\\031(%d+)\\031(%d+)\\031([^\\031]*)\\031([^\\031]*)\\031(.*)$')
    end
    """)

  /// Lua: `writeRecord(…)` returns the record of its six fields.
  static let writeRecord = LuaFunction(
    """
    local function writeRecord(...)
      return table.concat({...}, '\\031')
    end
    """)
}

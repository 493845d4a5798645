public import Redis

/// The version of the records in Redis. With it an older process neither misreads nor overwrites a newer one's
/// records.
///
/// A record of version 1 carries no mark. From version 2 on, a hash (and an entry of a stream) has its version in the
/// field `recordVersion`. A string begins with `v`, its version and a unit separator (ASCII 31). A reader that meets a
/// newer version gets a `RedisError` for which `isNewerRecord` is true, and puts its work off.
///
/// Sorted sets, budgets and paces have no version: they hold ids with a time, or numbers that are out of date after
/// seconds. A new form of them takes a new key.
public enum RecordVersion {
  /// The field of a hash.
  public static let field = "recordVersion"
  /// The first word of the error.
  static let word = "NEWER"
  /// The end of the error, behind the version.
  static let advice =
    ", and this process reads 1: update this process, or run it beside newer ones that do the work"

  /// Refuses a hash of a newer version.
  ///
  /// - Throws: `RedisError` with the same text as the scripts.
  public static func check(_ fields: [String: String], key: String, _ operation: String) throws(RedisError) {
    if let version = fields[field] { try check(version, key: key, operation) }
  }

  /// Refuses the field of a hash if it names a newer version.
  ///
  /// - Throws: as for a whole hash.
  public static func check(_ version: String, key: String, _ operation: String) throws(RedisError) {
    guard version != "1" else { return }
    throw RedisError(
      .reply, operation: operation, target: "Redis",
      cause: "\(word) \(key) has version \(version)\(advice)")
  }
}

extension LuaFunction {
  /// Lua: `newer(key, version)` returns an error if a hash has this `recordVersion` and this code does not know it.
  /// The script answers with that error. Otherwise the function returns nothing.
  ///
  /// `newerText(key, text)` does the same for a string. A script asks before it writes.
  package static let newer = LuaFunction(
    """
    local function newer(key, version)
      if version and version ~= '1' then
        return redis.error_reply('\(RecordVersion.word) ' .. key .. ' has version ' .. version
          .. '\(RecordVersion.advice)')
      end
    end
    local function newerText(key, text) return newer(key, text and string.match(text, '^v(%d+)\\031')) end
    """)
}

extension RedisError {
  /// Whether a newer process wrote the record. The caller puts the work off.
  public var isNewerRecord: Bool { code == .reply && cause.hasPrefix("\(RecordVersion.word) ") }
}

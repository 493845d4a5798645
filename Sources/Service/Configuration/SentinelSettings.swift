public import Formats

/// The sentinels of Redis.
public struct SentinelSettings: Sendable {
  /// Where they listen.
  public var addresses: [ServerAddress]
  /// The name under which they watch the primary.
  public var primaryName: String
  /// The user of the sentinels' own access control list.
  public var user: String?
  /// The sentinels' own password.
  public var password: String?

  /// - Parameters:
  ///   - key: the key of the URL.
  ///   - addresses: `nil` when the URL names no sentinels.
  ///   - path: the URL's; the primary's name is its first part, and is taken off.
  init?(_ reader: SettingsReader, _ key: String, _ addresses: [ServerAddress]?, _ path: inout String) {
    let userKey = "redis.sentinelUser"
    let passwordKey = "redis.sentinelPasswordFile"
    user = reader.optionalString(userKey, "User for the sentinels, if they have users of their own.")
    password = reader.password(
      passwordKey, "File with the sentinels' own password. The one in `redis.url` is the primary's.")
    guard let addresses else {
      for (key, value) in [(userKey, user), (passwordKey, password)] where value != nil {
        reader.note(key, "has no effect without sentinels, expected redis+sentinel:// in redis.url")
      }
      return nil
    }
    self.addresses = addresses
    let parts = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    primaryName = String(parts.first ?? "")
    path = parts.count > 1 ? String(parts[1]) : ""
    if primaryName.isEmpty { reader.note(key, "expected the primary's name after the sentinels, such as /mymaster/0") }
    if user != nil, password == nil { reader.note(userKey, "needs \(passwordKey) beside it") }
  }
}

/// A Lua script that runs atomically in Redis.
public struct RedisScript: Sendable {
  /// A name for errors and metrics.
  public let name: String
  /// The Lua text; `KEYS` and `ARGV` as Redis gives them.
  public let source: String

  /// Creates a script.
  public init(_ name: String, _ source: String) {
    self.name = name
    self.source = source
  }
}

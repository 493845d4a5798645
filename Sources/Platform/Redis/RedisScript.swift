/// A Lua script that runs atomically in Redis.
public struct RedisScript: Sendable {
  /// A name for errors and metrics.
  public let name: String
  /// The Lua text; `KEYS` and `ARGV` as Redis gives them.
  public let source: String

  /// What a script is run with.
  public struct Call: Sendable {
    /// What `KEYS` holds.
    public let keys: [String]
    /// What `ARGV` holds.
    public let arguments: [String]

    /// Creates a call.
    public init(keys: [String], arguments: [String]) {
      self.keys = keys
      self.arguments = arguments
    }
  }

  /// Creates a script.
  public init(_ name: String, _ source: String) {
    self.name = name
    self.source = source
  }
}

public import Formats

/// The sentinels of a Redis: processes that watch its nodes and choose a new primary when the present one is away.
public struct RedisSentinels: Sendable, CustomStringConvertible {
  /// The sentinels, in the order in which a client asks them.
  public var addresses: [ServerAddress]
  /// The name under which the sentinels watch the primary.
  public var primaryName: String
  /// User of the sentinels' own access control list, if there is one.
  public var user: String?
  /// The sentinels' own password; never printed.
  public var password: String?

  /// Creates a list of sentinels.
  public init(_ addresses: [ServerAddress], primaryName: String, user: String? = nil, password: String? = nil) {
    self.addresses = addresses
    self.primaryName = primaryName
    self.user = user
    self.password = password
  }

  public var description: String {
    "\(primaryName) of \(addresses.map(\.description).joined(separator: ","))"
  }
}

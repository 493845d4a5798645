/// What the attempts of late say about an endpoint; kept beside it, for endpoints of the API and of files alike.
public struct EndpointHealth: Sendable, Equatable {
  /// Why and since when nothing is sent to it; `nil` while it is enabled.
  public var disabled: Disabled?
  /// Since when every attempt has failed, in milliseconds since 1970; `nil` when the last one succeeded.
  public var failingSince: Int64?

  /// Why nothing is sent.
  public struct Disabled: Sendable, Equatable {
    public var reason: Reason
    /// Milliseconds since 1970.
    public var at: Int64

    /// Creates it.
    public init(reason: Reason, at: Int64) {
      self.reason = reason
      self.at = at
    }
  }

  /// What disabled an endpoint.
  public enum Reason: String, Sendable, CaseIterable {
    /// It answered 410.
    case gone
    /// Every attempt has failed for too long.
    case failing
    /// The publisher has switched it off.
    case request
  }

  /// Creates the health of an endpoint; without arguments that of a new one.
  public init(disabled: Disabled? = nil, failingSince: Int64? = nil) {
    self.disabled = disabled
    self.failingSince = failingSince
  }
}

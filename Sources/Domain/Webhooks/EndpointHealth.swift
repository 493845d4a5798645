/// What the latest attempts say about an endpoint. It is stored apart from the endpoint, for endpoints of the API and
/// of files alike.
public struct EndpointHealth: Sendable, Equatable {
  /// Why and since when the notifiers send nothing to it; `nil` while it is enabled.
  public var disabled: Disabled?
  /// The time since which every attempt has failed, in milliseconds since 1970; `nil` when the last one succeeded.
  public var failingSince: Int64?

  /// Why and since when an endpoint is disabled.
  public struct Disabled: Sendable, Equatable {
    public var reason: Reason
    /// Milliseconds since 1970.
    public var at: Int64

    /// Creates the reason and the time.
    public init(reason: Reason, at: Int64) {
      self.reason = reason
      self.at = at
    }
  }

  /// Why an endpoint is disabled.
  public enum Reason: String, Sendable, CaseIterable {
    /// It answered 410.
    case gone
    /// Every attempt has failed for too long.
    case failing
    /// The publisher has disabled it.
    case request
  }

  /// Creates the health of an endpoint; without arguments that of a new one.
  public init(disabled: Disabled? = nil, failingSince: Int64? = nil) {
    self.disabled = disabled
    self.failingSince = failingSince
  }
}

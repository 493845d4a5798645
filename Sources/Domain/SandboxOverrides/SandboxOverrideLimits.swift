/// How far a publisher's people may override the publisher's file.
public struct SandboxOverrideLimits: Sendable, Equatable {
  /// The longest time from the request to the end, in days.
  public var longestDays: Int
  /// Customers of one publisher with an override that is in force. More of them are a case for the publisher's file.
  public var customers: Int

  /// Creates limits; without arguments those of the product.
  public init(longestDays: Int = 90, customers: Int = 100) {
    (self.longestDays, self.customers) = (longestDays, customers)
  }
}

/// Why an override was not set. Nothing was changed.
public enum SandboxOverrideRefusal: Error, Sendable, Equatable {
  /// The end is not in the future.
  case alreadyOver
  /// The end is further away than the limit says.
  case tooLong
  /// The publisher has as many customers with an override as it may have.
  case tooMany
}

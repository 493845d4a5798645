import Formats

/// What a publisher may give by hand.
public struct GrantLimits: Sendable, Equatable {
  /// The longest time from the request to the end of a grant, in days.
  public var longestDays: Int
  /// Grants of one customer that are open at the same time.
  public var openOfCustomer: Int
  /// Grants of one publisher in a day, in UTC.
  public var perDay: Int

  /// Creates limits.
  public init(longestDays: Int = 366, openOfCustomer: Int = 10, perDay: Int = 1000) {
    (self.longestDays, self.openOfCustomer, self.perDay) = (longestDays, openOfCustomer, perDay)
  }

  /// How long it takes from a time until the next day begins, in milliseconds.
  public static func restOfDay(at now: Int64) -> Int64 {
    let gone = now % .millisecondsOfDay
    return .millisecondsOfDay - (gone < 0 ? gone + .millisecondsOfDay : gone)
  }
}

/// Why a grant was not given. Nothing was changed.
public enum GrantRefusal: Error, Sendable, Equatable {
  /// The publisher has another grant with the id.
  case idInUse
  /// The end is not in the future.
  case alreadyOver
  /// The end is further away than the limit says.
  case tooLong
  /// The publisher has no such offer.
  case unknownOffer
  /// The customer has as many open grants as it may have.
  case openOfCustomer
  /// The publisher has given as many grants today as it may.
  case perDay
}

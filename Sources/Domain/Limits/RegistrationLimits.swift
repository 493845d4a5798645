/// How many registrations one publisher and one customer may send, and have under way. All gateways share the counts.
public struct RegistrationLimits: Sendable, Equatable {
  /// Registrations a second of a publisher. Those of one second may come at once.
  public var perSecond: Int
  /// Registrations a second with the token of a customer. Those of ten seconds may come at once.
  public var perSecondOfCustomer: Int
  /// Synchronizations of a customer that are not finalized.
  public var openOfCustomer: Int
  /// Synchronizations of a publisher that are not finalized.
  public var openOfPublisher: Int

  /// Creates limits.
  public init(
    perSecond: Int = 1000, perSecondOfCustomer: Int = 5, openOfCustomer: Int = 50, openOfPublisher: Int = 100_000
  ) {
    (self.perSecond, self.perSecondOfCustomer) = (perSecond, perSecondOfCustomer)
    (self.openOfCustomer, self.openOfPublisher) = (openOfCustomer, openOfPublisher)
  }

  /// Limits that nobody reaches.
  public static let none = RegistrationLimits(
    perSecond: 1_000_000, perSecondOfCustomer: 1_000_000, openOfCustomer: .max, openOfPublisher: .max)
}

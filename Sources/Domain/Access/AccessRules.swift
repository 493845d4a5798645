/// The access that a publisher gives one customer for a verified purchase.
public struct AccessRules: Sendable {
  /// The publisher's offers.
  public let offers: OfferCatalog
  /// Whether purchases from Apple's sandbox count for the customer, although nobody has paid for them.
  public let allowsSandbox: Bool

  /// Creates rules.
  public init(offers: OfferCatalog, allowsSandbox: Bool) {
    self.offers = offers
    self.allowsSandbox = allowsSandbox
  }

  /// The rules of an unknown publisher: nothing gives access.
  public static let none = AccessRules(offers: OfferCatalog([]), allowsSandbox: false)

  /// Whether purchases of an environment count. Production always counts; any other needs ``allowsSandbox``.
  public func allow(environment: Environment) -> Bool { allowsSandbox || environment == .production }
}

extension Publisher {
  /// The rules of the publisher for one customer.
  public func accessRules(for customer: CustomerId) -> AccessRules {
    AccessRules(offers: offers, allowsSandbox: sandboxAccess.allows(customer))
  }
}

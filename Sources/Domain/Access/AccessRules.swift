/// What a publisher gives one customer for a verified purchase.
public struct AccessRules: Sendable {
  /// What the publisher sells.
  public let offers: OfferCatalog
  /// Whether purchases from Apple's sandbox, which nobody has paid for, count for the customer.
  public let allowsSandbox: Bool

  /// Creates rules.
  public init(offers: OfferCatalog, allowsSandbox: Bool) {
    self.offers = offers
    self.allowsSandbox = allowsSandbox
  }

  /// The rules of a publisher that nobody knows: nothing gives access.
  public static let none = AccessRules(offers: OfferCatalog([]), allowsSandbox: false)

  /// Whether purchases of an environment count; of all but production only with ``allowsSandbox``.
  public func allow(environment: String) -> Bool { allowsSandbox || environment.utf8.elementsEqual("Production".utf8) }

  /// Whether an outcome that gave access a moment ago, perhaps to another customer, may still be given to this one.
  public func allow(_ granted: Outcome) -> Bool {
    guard let offer = granted.offerId, let environment = granted.environment else { return false }
    return offers.contains(offer) && allow(environment: environment)
  }
}

extension Publisher {
  /// What the publisher gives a customer.
  public func accessRules(for customer: Int64) -> AccessRules {
    AccessRules(offers: offers, allowsSandbox: sandboxAccess.allows(customer))
  }
}

/// The access that a publisher gives one customer for a verified purchase.
public struct AccessRules: Sendable {
  /// The publisher's offers.
  public let offers: OfferCatalog
  /// Whether the publisher's file lets purchases from Apple's sandbox count for the customer, although nobody has paid
  /// for them.
  public let allowsSandbox: Bool
  /// Until when they count by a ``SandboxOverride``, in milliseconds since 1970; `nil` if the customer has none.
  public let sandboxUntil: Int64?

  /// Creates rules.
  public init(offers: OfferCatalog, allowsSandbox: Bool, sandboxUntil: Int64? = nil) {
    self.offers = offers
    self.allowsSandbox = allowsSandbox
    self.sandboxUntil = sandboxUntil
  }

  /// The rules of an unknown publisher: nothing gives access.
  public static let none = AccessRules(offers: OfferCatalog([]), allowsSandbox: false)

  /// Whether purchases of an environment count at a time. Production always counts; any other needs ``allowsSandbox``,
  /// or an override that is in force.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func allow(environment: Environment, at now: Int64) -> Bool {
    if environment == .production || allowsSandbox { return true }
    return sandboxUntil.map { now < $0 } ?? false
  }

  /// Until when purchases of an environment count, in milliseconds since 1970; `nil` if there is no end. What the
  /// publisher's file allows has none, whatever an override says.
  func end(of environment: Environment) -> Int64? {
    environment == .production || allowsSandbox ? nil : sandboxUntil
  }

  /// The rules as they are at a time, for a look back: what counts then counts always, and the rest never.
  func settled(at now: Int64) -> AccessRules {
    AccessRules(offers: offers, allowsSandbox: allow(environment: .sandbox, at: now))
  }
}

extension Publisher {
  /// The rules of the publisher for one customer.
  ///
  /// - Parameter sandboxUntil: the end of the customer's ``SandboxOverride``; `nil` without one.
  public func accessRules(for customer: CustomerId, sandboxUntil: Int64?) -> AccessRules {
    AccessRules(offers: offers, allowsSandbox: sandboxAccess.allows(customer), sandboxUntil: sandboxUntil)
  }

  /// The rules for the owner of a purchase.
  public func accessRules(for owner: Owner) -> AccessRules {
    accessRules(for: owner.customerId, sandboxUntil: owner.sandboxUntil)
  }

  /// The rules for a customer whose purchases were read: each names its owner's override.
  public func accessRules(for customer: CustomerId, owning purchases: some Sequence<Purchase>) -> AccessRules {
    let ends = purchases.lazy.compactMap(\.owner).filter { $0.is(customer) }.compactMap(\.sandboxUntil)
    return accessRules(for: customer, sandboxUntil: ends.first { _ in true })
  }
}

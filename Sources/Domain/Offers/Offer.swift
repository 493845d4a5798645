public import Formats

/// What a customer gets access to, and the Apple products that give it.
public struct Offer: Sendable, Equatable {
  public let id: OfferId
  /// The ids of its Apple products.
  public let productIds: [ProductId]
  /// Days of access from the purchase of a non-renewing product. Apple does not know its end; `nil` means no end.
  public let accessDays: Int?
  /// What the offer opens, in the publisher's own words.
  @Exact public private(set) var tags: [String]
  /// The name for people.
  @Exact public private(set) var displayName: String?
  /// The class of the item in the publisher's catalog.
  @Exact public private(set) var itemClass: String?
  /// The version of the publisher's catalog that has the offer.
  @Exact public private(set) var catalogVersion: String?
  /// The price that the publisher's catalog shows; Apple's price counts.
  public let price: Price?
  /// The coupons of generic campaigns that are valid for the offer.
  @Exact public private(set) var coupons: [String]
  /// What a refund does to the access.
  public let refunds: RefundPolicy
  /// Whether a purchase that a family member shares gives access.
  public let grantsFamilyShared: Bool
  /// What happens when Apple asks about the consumption.
  public let consumption: ConsumptionPolicy

  /// Creates an offer.
  public init(
    id: OfferId, productIds: [ProductId], accessDays: Int? = nil, tags: [String] = [], displayName: String? = nil,
    itemClass: String? = nil, catalogVersion: String? = nil, price: Price? = nil, coupons: [String] = [],
    refunds: RefundPolicy = .endAccess, grantsFamilyShared: Bool = true,
    consumption: ConsumptionPolicy = ConsumptionPolicy()
  ) {
    self.id = id
    self.productIds = productIds
    self.accessDays = accessDays
    self.tags = tags
    self.displayName = displayName
    self.itemClass = itemClass
    self.catalogVersion = catalogVersion
    self.price = price
    self.coupons = coupons
    self.refunds = refunds
    self.grantsFamilyShared = grantsFamilyShared
    self.consumption = consumption
  }

  /// An amount of money.
  public struct Price: Sendable, Equatable {
    /// In hundredths of the currency.
    public let amount: Int64
    /// The code after ISO 4217, for example `USD`.
    public let currency: CurrencyCode

    /// Creates a price.
    public init(amount: Int64, currency: CurrencyCode) {
      self.amount = amount
      self.currency = currency
    }
  }
}

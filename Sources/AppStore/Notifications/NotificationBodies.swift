public import Domain

/// The change of one purchase. Each nested text has its own signature.
public struct NotificationData: Hashable, Sendable, Codable {
  /// The environment of the purchase.
  public var environment: Environment?
  /// Apple's id of the app; missing in sandbox tests.
  public var appAppleId: Int64?
  /// The app.
  public var bundleId: BundleId?
  /// The app's build.
  public var bundleVersion: String?
  /// The transaction, signed.
  public var signedTransactionInfo: String?
  /// The renewal information, signed.
  public var signedRenewalInfo: String?
  /// The state of the subscription when Apple sent this. Only a notification has Apple's signature on it.
  public var status: SubscriptionStatus?
  /// Why the customer wants the money back.
  public var consumptionRequestReason: ConsumptionRequestReason?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}

/// The result of a mass extension.
public struct NotificationSummary: Hashable, Sendable, Codable {
  /// The environment of the extension.
  public var environment: Environment?
  /// Apple's id of the app.
  public var appAppleId: Int64?
  /// The app.
  public var bundleId: BundleId?
  /// The extended product.
  public var productId: ProductId?
  /// The id of the request.
  public var requestIdentifier: String?
  /// The storefronts that were asked for.
  public var storefrontCountryCodes: [String]?
  /// Extended subscriptions.
  public var succeededCount: Int64?
  /// Subscriptions that were not extended.
  public var failedCount: Int64?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}

/// A change of the app itself, not of a purchase.
public struct NotificationAppData: Hashable, Sendable, Codable {
  /// Apple's id of the app.
  public var appAppleId: Int64?
  /// The app.
  public var bundleId: BundleId?
  /// The environment of the app.
  public var environment: Environment?
  /// The app transaction, signed.
  public var signedAppTransactionInfo: String?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}

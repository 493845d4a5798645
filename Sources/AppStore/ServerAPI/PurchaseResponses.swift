public import Domain

/// The answer of Get Transaction Info.
public struct TransactionInfoResponse: Hashable, Sendable, Codable {
  /// The transaction, signed.
  public var signedTransactionInfo: String
}

/// The answer of Get All Subscription Statuses.
public struct SubscriptionStatusesResponse: Hashable, Sendable, Codable {
  /// The environment of the subscriptions.
  public var environment: Environment?
  /// The app.
  public var bundleId: BundleId?
  /// Apple's id of the app.
  public var appAppleId: Int64?
  /// The subscription groups, in no particular order.
  public var data: [Group]

  /// The subscriptions of one group.
  public struct Group: Hashable, Sendable, Codable {
    /// The group.
    public var subscriptionGroupIdentifier: String?
    /// The last transaction of each subscription, in no particular order.
    public var lastTransactions: [LastTransaction]?
  }

  /// One subscription.
  public struct LastTransaction: Hashable, Sendable, Codable {
    /// Its state.
    public var status: SubscriptionStatus?
    /// The purchase.
    public var originalTransactionId: OriginalTransactionId?
    /// Its last transaction, signed.
    public var signedTransactionInfo: String?
    /// The renewal information of the next renewal, signed.
    public var signedRenewalInfo: String?
  }
}

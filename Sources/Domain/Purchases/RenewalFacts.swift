/// The facts of a subscription's renewal info, as Apple signed them at a time. Dates are milliseconds since 1970.
public struct RenewalFacts: Sendable, Equatable, SignedFacts {
  public var originalTransactionId: OriginalTransactionId
  /// `Production` or `Sandbox`.
  public var environment: Environment
  /// Whether the subscription renews at the end of its period.
  public var willRenew: Bool?
  /// The product of the next period.
  public var nextProductId: ProductId?
  /// The end of the billing grace period.
  public var graceExpiresDate: Int64?
  /// Whether Apple tries again to charge the customer.
  public var isInBillingRetry: Bool?
  /// Apple's number for the reason why the subscription expired.
  public var expirationIntent: Int32?
  /// The customer's answer to a price increase: 0 not yet, 1 agreed.
  public var priceIncreaseStatus: Int32?
  public var signedDate: Int64
  /// SHA-256 of the decoded payload.
  public var payloadSHA256: [UInt8]

  /// Creates the facts.
  public init(
    originalTransactionId: OriginalTransactionId, environment: Environment, willRenew: Bool? = nil,
    nextProductId: ProductId? = nil,
    graceExpiresDate: Int64? = nil, isInBillingRetry: Bool? = nil, expirationIntent: Int32? = nil,
    priceIncreaseStatus: Int32? = nil, signedDate: Int64,
    payloadSHA256: [UInt8]
  ) {
    self.originalTransactionId = originalTransactionId
    self.environment = environment
    self.willRenew = willRenew
    self.nextProductId = nextProductId
    self.graceExpiresDate = graceExpiresDate
    self.isInBillingRetry = isInBillingRetry
    self.expirationIntent = expirationIntent
    self.priceIncreaseStatus = priceIncreaseStatus
    self.signedDate = signedDate
    self.payloadSHA256 = payloadSHA256
  }
}

/// Apple's status of a subscription. Apple does not sign it, so it can only take access away (decision 0006).
public struct ReportedStatus: Sendable, Equatable {
  /// 1 active, 2 expired, 3 billing retry, 4 billing grace period, 5 revoked.
  public var code: Int32
  /// The date of the renewal info beside it, in milliseconds since 1970.
  public var date: Int64

  /// The subscription was refunded, or is no longer shared.
  public static let revoked: Int32 = 5

  /// Creates a status.
  public init(code: Int32, date: Int64) {
    self.code = code
    self.date = date
  }

  /// Whether this status counts rather than another one. On equal dates the greater code counts: it takes away more.
  func isNewer(than other: ReportedStatus) -> Bool {
    date != other.date ? date > other.date : code > other.code
  }
}

public import Formats

/// The outcome code of a finalized synchronization; an open set, so a reader must expect others.
public struct SynchronizationResult: ExactRawValue, Sendable {
  public let rawValue: String

  /// Creates a result from its code.
  public init(rawValue: String) { self.rawValue = rawValue }
  private init(_ code: String) { rawValue = code }

  /// Access is granted.
  public static let purchaseSynchronized = Self("PURCHASE_SYNCHRONIZED")
  /// The purchase had ended before it was received, or is not paid for.
  public static let receivedExpiredPurchase = Self("RECEIVED_EXPIRED_PURCHASE")
  /// Apple does not know the transaction, in no app and no environment of the publisher.
  public static let transactionIdNotFound = Self("TRANSACTION_ID_NOT_FOUND")
  /// Apple has refunded the purchase or taken it back.
  public static let purchaseRevoked = Self("PURCHASE_REVOKED")
  /// The product stands for no offer of the publisher.
  public static let offerNotFound = Self("OFFER_NOT_FOUND")
  /// Another customer of the publisher has registered the purchase before.
  public static let purchaseOwnedByAnotherCustomer = Self("PURCHASE_OWNED_BY_ANOTHER_CUSTOMER")
  /// The signed data belongs to an app that is not the publisher's.
  public static let appMismatch = Self("APP_MISMATCH")
  /// The data is not what Apple signs: signature, chain, markers, environment or kind.
  public static let verificationFailed = Self("VERIFICATION_FAILED")
  /// The purchase is from Apple's sandbox, and the publisher does not give this customer access for that.
  public static let sandboxNotAllowed = Self("SANDBOX_NOT_ALLOWED")
  /// Every attempt failed for reasons that might have passed.
  public static let internalError = Self("INTERNAL_ERROR")

  /// Every result that this version gives.
  public static let known: [Self] = [
    .purchaseSynchronized, .receivedExpiredPurchase, .transactionIdNotFound, .purchaseRevoked, .offerNotFound,
    .purchaseOwnedByAnotherCustomer, .appMismatch, .verificationFailed, .sandboxNotAllowed, .internalError,
  ]
}

/// What a synchronization came to, before anybody else's claim to the purchase is looked at.
public struct Outcome: Sendable, Equatable {
  public var result: SynchronizationResult
  /// Whether the customer may access the offer.
  public var accessGranted: Bool
  /// The offer that the customer is entitled to; only with access.
  public var offerId: String?
  /// Apple's id of the purchase, once verified.
  public var originalTransactionId: String?
  /// The environment of the verified data, `Production` or `Sandbox`.
  public var environment: String?

  /// Creates an outcome.
  public init(
    _ result: SynchronizationResult, accessGranted: Bool = false, offerId: String? = nil,
    originalTransactionId: String? = nil, environment: String? = nil
  ) {
    self.result = result
    self.accessGranted = accessGranted
    self.offerId = offerId
    self.originalTransactionId = originalTransactionId
    self.environment = environment
  }
}

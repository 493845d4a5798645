public import Formats

/// The outcome code of a finalized synchronization; an open set, so a reader must expect others.
public struct SynchronizationResult: ExactRawValue, Sendable {
  public let rawValue: String

  /// Creates a result from its code.
  public init(rawValue: String) { self.rawValue = rawValue }
  private init(_ code: String) { rawValue = code }

  /// Access is granted.
  public static let purchaseSynchronized = Self("PURCHASE_SYNCHRONIZED")
  /// The purchase had ended before the registration, or nobody has paid for it.
  public static let receivedExpiredPurchase = Self("RECEIVED_EXPIRED_PURCHASE")
  /// Apple does not know the transaction in any app or environment of the publisher.
  public static let transactionIdNotFound = Self("TRANSACTION_ID_NOT_FOUND")
  /// Apple has refunded the purchase or taken it back.
  public static let purchaseRevoked = Self("PURCHASE_REVOKED")
  /// The product belongs to no offer of the publisher.
  public static let offerNotFound = Self("OFFER_NOT_FOUND")
  /// Another customer of the publisher has registered the purchase before.
  public static let purchaseOwnedByAnotherCustomer = Self("PURCHASE_OWNED_BY_ANOTHER_CUSTOMER")
  /// The signed data belongs to an app that is not the publisher's.
  public static let appMismatch = Self("APP_MISMATCH")
  /// Apple did not sign the data so: its signature, chain, markers, environment or kind is wrong.
  public static let verificationFailed = Self("VERIFICATION_FAILED")
  /// The purchase is from Apple's sandbox, and the publisher does not give this customer access for it.
  public static let sandboxNotAllowed = Self("SANDBOX_NOT_ALLOWED")
  /// The publisher erased the customer after the registration.
  public static let customerErased = Self("CUSTOMER_ERASED")
  /// Every attempt failed, and each cause might have passed.
  public static let internalError = Self("INTERNAL_ERROR")

  /// Every result that this version gives.
  public static let known: [Self] =
    [
      .purchaseSynchronized, .receivedExpiredPurchase, .transactionIdNotFound, .purchaseRevoked, .offerNotFound,
      .purchaseOwnedByAnotherCustomer, .appMismatch, .verificationFailed, .sandboxNotAllowed, .internalError,
      .customerErased, .purchaseUnclaimed, .offerMismatch, .familySharingNotAllowed,
    ] + ofOwnership
}

/// The outcome of a finalized synchronization.
public struct Outcome: Sendable, Equatable {
  public var result: SynchronizationResult
  /// Whether the customer may access the offer.
  public var accessGranted: Bool
  /// The offer that the customer may access; `nil` without access.
  public var offerId: String?
  /// Apple's id of the purchase, once verified.
  public var originalTransactionId: OriginalTransactionId?
  /// The environment of the verified data, `Production` or `Sandbox`.
  public var environment: String?
  /// The consumable that the transaction bought; `nil` for other products, and without access to the facts.
  public var consumable: ConsumableGrant?

  /// Creates an outcome.
  public init(
    _ result: SynchronizationResult, accessGranted: Bool = false, offerId: String? = nil,
    originalTransactionId: OriginalTransactionId? = nil, environment: String? = nil, consumable: ConsumableGrant? = nil
  ) {
    self.result = result
    self.accessGranted = accessGranted
    self.offerId = offerId
    self.originalTransactionId = originalTransactionId
    self.environment = environment
    self.consumable = consumable
  }
}

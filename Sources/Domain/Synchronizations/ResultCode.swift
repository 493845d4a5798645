public import Formats

/// The code of a synchronization's result; an open set, so a reader must expect others.
public struct ResultCode: ExactRawValue, Sendable {
  public let rawValue: String

  /// Creates a code from its text.
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

  /// Every code that this version gives.
  public static let known: [Self] =
    [
      .purchaseSynchronized, .receivedExpiredPurchase, .transactionIdNotFound, .purchaseRevoked, .offerNotFound,
      .purchaseOwnedByAnotherCustomer, .appMismatch, .verificationFailed, .sandboxNotAllowed, .internalError,
      .customerErased, .purchaseUnclaimed, .offerMismatch, .familySharingNotAllowed,
    ] + ofOwnership
}

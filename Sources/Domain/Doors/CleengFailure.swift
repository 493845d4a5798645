public import Formats

/// Why a payment at Cleeng's StoreKit 1 door gives no access: `result` of `inappPurchaseValidationFailed`.
///
/// Cleeng's own list is not public. This set is ours, and it is open.
public struct CleengFailure: ExactRawValue, Error {
  public let rawValue: String

  /// Creates a failure from its name.
  public init(rawValue: String) { self.rawValue = rawValue }
  private init(_ name: String) { rawValue = name }

  // What the gateway finds in the request.

  /// Apple did not sign the receipt so.
  public static let receiptNotValid = Self("ReceiptNotValid")
  /// The receipt, or Apple's answer, is about an app that is not the publisher's.
  public static let receiptOfAnotherApp = Self("ReceiptOfAnotherApp")
  /// The publisher does not accept the app in the receipt's environment.
  public static let environmentNotAccepted = Self("EnvironmentNotAccepted")
  /// The receipt has no purchase with the named transaction.
  public static let transactionNotInReceipt = Self("TransactionNotInReceipt")
  /// The publisher has no such offer, or none with the product.
  public static let offerNotFound = Self("OfferNotFound")
  /// The product belongs to another offer than the request names.
  public static let offerMismatch = Self("OfferMismatch")
  /// The publisher has no customer with the address, or has erased the customer.
  public static let customerNotFound = Self("CustomerNotFound")

  // What the ledger and Apple say.

  /// The purchase has ended, or nobody has paid for it.
  public static let purchaseExpired = Self("PurchaseExpired")
  /// Apple refunded the purchase, or took it back.
  public static let purchaseRevoked = Self("PurchaseRevoked")
  /// Apple does not know the transaction.
  public static let transactionNotFound = Self("TransactionNotFound")
  /// Another customer owns the purchase, and stays its owner.
  public static let purchaseOwnedByAnotherCustomer = Self("PurchaseOwnedByAnotherCustomer")
  /// The customer has not shown what the publisher asks an owner for.
  public static let ownershipNotProven = Self("OwnershipNotProven")
  /// The purchase is from the sandbox, and the publisher gives this customer no access for it.
  public static let sandboxNotAllowed = Self("SandboxNotAllowed")
  /// Apple's answer is not what Apple signs.
  public static let verificationFailed = Self("VerificationFailed")
  /// Every attempt failed, and each cause might have passed.
  public static let internalError = Self("InternalError")

  /// Every failure that this version gives.
  public static let known: [Self] = [
    .receiptNotValid, .receiptOfAnotherApp, .environmentNotAccepted, .transactionNotInReceipt, .offerNotFound,
    .offerMismatch, .customerNotFound, .purchaseExpired, .purchaseRevoked, .transactionNotFound,
    .purchaseOwnedByAnotherCustomer, .ownershipNotProven, .sandboxNotAllowed, .verificationFailed, .internalError,
  ]

  /// The failure of a synchronization that gives no access.
  public init(_ result: SynchronizationResult) {
    self =
      switch result {
      case .receivedExpiredPurchase: .purchaseExpired
      case .purchaseRevoked: .purchaseRevoked
      case .transactionIdNotFound: .transactionNotFound
      case .offerNotFound: .offerNotFound
      case .offerMismatch: .offerMismatch
      case .purchaseOwnedByAnotherCustomer: .purchaseOwnedByAnotherCustomer
      case .ownershipNotProven: .ownershipNotProven
      case .appMismatch: .receiptOfAnotherApp
      case .sandboxNotAllowed: .sandboxNotAllowed
      case .verificationFailed: .verificationFailed
      case .customerErased: .customerNotFound
      default: .internalError
      }
  }
}

import Domain

/// Why a payment at Cleeng's StoreKit 1 door gives no access: `result` of `inappPurchaseValidationFailed`.
///
/// Cleeng's own list is not public. This set is ours, and it is open.
enum CleengFailure: String, CaseIterable, Sendable, Error {
  // What the gateway finds in the request.

  /// Apple did not sign the receipt so.
  case receiptNotValid = "ReceiptNotValid"
  /// The receipt, or Apple's answer, is about an app that is not the publisher's.
  case receiptOfAnotherApp = "ReceiptOfAnotherApp"
  /// The publisher does not accept the app in the receipt's environment.
  case environmentNotAccepted = "EnvironmentNotAccepted"
  /// The receipt has no purchase with the named transaction.
  case transactionNotInReceipt = "TransactionNotInReceipt"
  /// The publisher has no such offer, or none with the product.
  case offerNotFound = "OfferNotFound"
  /// The product belongs to another offer than the request names.
  case offerMismatch = "OfferMismatch"
  /// The publisher has no customer with the address, or has erased the customer.
  case customerNotFound = "CustomerNotFound"

  // What the ledger and Apple say.

  /// The purchase has ended, or nobody has paid for it.
  case purchaseExpired = "PurchaseExpired"
  /// Apple refunded the purchase, or took it back.
  case purchaseRevoked = "PurchaseRevoked"
  /// Apple does not know the transaction.
  case transactionNotFound = "TransactionNotFound"
  /// Another customer owns the purchase, and stays its owner.
  case purchaseOwnedByAnotherCustomer = "PurchaseOwnedByAnotherCustomer"
  /// The customer has not shown what the publisher asks an owner for.
  case ownershipNotProven = "OwnershipNotProven"
  /// The purchase is from the sandbox, and the publisher gives this customer no access for it.
  case sandboxNotAllowed = "SandboxNotAllowed"
  /// Apple's answer is not what Apple signs.
  case verificationFailed = "VerificationFailed"
  /// Every attempt failed, and each cause might have passed.
  case internalError = "InternalError"

  /// The failure of a synchronization that gives no access.
  init(_ code: ResultCode) {
    self =
      switch code {
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

public import Domain

/// What Apple signed, as a row has it.
public enum ImportSignedText: Sendable, Equatable {
  /// A transaction, as JWS.
  case transaction(String)
  /// An app receipt, in base64.
  case receipt(String)
}

/// A purchase that a verified text names.
public struct ImportSignedPurchase: Sendable, Equatable {
  /// Its first transaction. It stands for all of its periods.
  public let first: TransactionId
  /// Its transactions in the text.
  public let transactions: [TransactionId]
  /// Whether the text tells all that Apple would: the purchase does not renew, and Apple signed a whole transaction.
  public let isEnough: Bool

  /// Creates it.
  public init(first: TransactionId, transactions: [TransactionId], isEnough: Bool) {
    (self.first, self.transactions, self.isEnough) = (first, transactions, isEnough)
  }

  /// Whether an id of a row means this purchase.
  func isNamed(by id: TransactionId) -> Bool { first == id || transactions.contains(id) }
}

/// Verifies what Apple signed. This module is pure, so somebody else reads certificates.
public protocol ImportVerifier: Sendable {
  /// The purchases of a text whose signature is Apple's and whose app is the publisher's.
  func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase]
}

/// Why a signed text is not accepted.
public struct ImportRefusal: Error, Sendable, Equatable {
  public let cause: String
  /// What a person can do about it.
  public let remedy: String

  /// Creates a refusal.
  public init(_ cause: String, _ remedy: String) { (self.cause, self.remedy) = (cause, remedy) }
}

import AppStore
import Domain
import Formats

/// A signed transaction in a registration: the app had it, so its customer has the purchase (`ownership.proof`).
enum SignedTransactionProof {
  /// Checks a signed transaction.
  ///
  /// - Parameters:
  ///   - transactionId: the registered transaction. A transaction of another purchase proves nothing.
  ///   - publisher: its apps, in their environments, are accepted.
  /// - Returns: the purchase that it proves.
  /// - Throws: ``Problem``: 400 REQ0001 with the reason.
  static func check(
    _ signed: String, of transactionId: TransactionId, publisher: Publisher, verifier: SignedDataVerifier
  ) throws(Problem) -> PurchaseKey {
    switch verifier.transaction(signed, expecting: publisher.acceptedApps()) {
    case .accepted(let payload):
      guard payload.transactionId == transactionId else {
        throw .invalidBody("signedTransaction: is another transaction than transactionId names")
      }
      guard let environment = payload.environment, let original = payload.originalTransactionId else {
        throw .invalidBody("signedTransaction: has no environment or no originalTransactionId")
      }
      return PurchaseKey(
        publisherId: publisher.id, environment: environment, originalTransactionId: original)
    case .rejected(let rejection):
      throw .invalidBody("signedTransaction: \(rejection)")
    case .tryLater:
      throw .unavailable("The signed transaction cannot be verified now.")
    }
  }
}

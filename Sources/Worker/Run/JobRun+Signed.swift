import AppStore
import Domain

/// A job of an import whose row says that the signature of its transaction is enough.
extension JobRun {
  /// What the transaction proves; `nil` if Apple must be asked.
  ///
  /// The command has checked it. A worker checks it again: nothing unverified grants access, and the publisher's file
  /// may have changed. A subscription may have been renewed since, so its transaction does not tell enough.
  func makeSignedBasis() -> FinalizationRequest.Basis? {
    guard job.imported != nil, let jws = job.signedTransaction,
      let publisher = dependencies.publishers()[job.publisherId],
      case .accepted(let signed) = dependencies.signedData.signedTransaction(jws, expecting: publisher.acceptedApps()),
      let type = signed.payload.type, type != .autoRenewable, let piece = try? Evidence(signed, source: .client)
    else { return nil }
    let key = piece.key(of: job.publisherId)
    guard key.originalTransactionId.firstTransaction == job.transactionId else { return nil }
    return .evidence(key, [piece])
  }
}

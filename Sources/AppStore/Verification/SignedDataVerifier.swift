import Formats
public import JSON

/// Verifies the data that the App Store signs: transactions, renewal information, notifications and app transactions.
///
/// It never calls a server. It judges a chain at the date of signing, against pinned roots.
public final class SignedDataVerifier: Sendable {
  let signatures: SignatureVerification

  /// Creates a verifier that trusts the given roots and remembers a number of verified chains.
  public init(roots: TrustedRoots = .apple, cachedChains: Int = 64) {
    signatures = SignatureVerification(roots: roots, cache: VerifiedChainCache(capacity: cachedChains))
  }

  /// Verifies a transaction.
  public func transaction(_ jws: String, expecting apps: AcceptedApps) -> Verdict<TransactionPayload> {
    Verdict { () throws(Rejection) in try verified(jws, expecting: apps).payload }
  }

  /// Verifies a transaction, and returns it with the bytes that Apple signed.
  public func signedTransaction(
    _ jws: String, expecting apps: AcceptedApps
  ) -> Verdict<Verified<TransactionPayload>> {
    Verdict { () throws(Rejection) in Verified(try verified(jws, expecting: apps), sharing: signatures.cache) }
  }

  /// Verifies renewal information alone. It names no app; only ``renewalInfo(_:belongingTo:)`` ties it to an app.
  public func renewalInfo(_ jws: String, expecting apps: AcceptedApps) -> Verdict<RenewalInfoPayload> {
    Verdict { () throws(Rejection) in try verified(jws, expecting: apps).payload }
  }

  /// Verifies renewal information, and checks that it concerns the purchase of an accepted transaction.
  public func renewalInfo(
    _ jws: String, belongingTo transaction: TransactionPayload
  ) -> Verdict<RenewalInfoPayload> {
    Verdict { () throws(Rejection) in try related(jws, to: transaction).payload }
  }

  /// Verifies renewal information that concerns the purchase of an accepted transaction, and returns it with the bytes
  /// that Apple signed.
  public func signedRenewalInfo(
    _ jws: String, belongingTo transaction: TransactionPayload
  ) -> Verdict<Verified<RenewalInfoPayload>> {
    Verdict { () throws(Rejection) in Verified(try related(jws, to: transaction), sharing: signatures.cache) }
  }

  /// Verifies a notification and all texts that are nested in it.
  public func notification(_ jws: String, expecting apps: AcceptedApps) -> Verdict<VerifiedNotification> {
    Verdict { () throws(Rejection) in
      let payload: NotificationPayload = try verified(jws, expecting: apps).payload
      return try nested(in: payload, expecting: apps)
    }
  }

  /// Verifies an app transaction.
  public func appTransaction(_ jws: String, expecting apps: AcceptedApps) -> Verdict<AppTransactionPayload> {
    Verdict { () throws(Rejection) in try verified(jws, expecting: apps).payload }
  }

  /// Returns the kind that a signed text seems to have, without verifying it.
  public static func kind(of jws: String) -> SignedDataKind? {
    (try? JSONWebSignature(jws).fields()).map(SignedDataKind.detected)
  }

  /// Returns the payload of a signed text with its unknown fields, without verifying it.
  public static func unverifiedPayload(of jws: String) -> JSONValue? {
    try? JSONText(JSONWebSignature(jws).payload).decoded()
  }

  /// A verified payload beside the parts of its text.
  typealias Checked<Payload> = (payload: Payload, jws: JSONWebSignature)

  private func verified<Payload: SignedPayload>(
    _ text: String, expecting apps: AcceptedApps
  ) throws(Rejection) -> Checked<Payload> {
    let jws = try JSONWebSignature(text)
    let payload: Payload = try authentic(jws, allowingUnsigned: apps.includesUnsignedEnvironments)
    // The decoded payload usually tells its kind. If it does not, the verifier asks for the names of all fields, which
    // costs a second reading.
    if !payload.hasOwnField, !Payload.kind.admits(fields: try jws.fields()) {
      throw Rejection(.kindMismatch, "this is not a \(Payload.kind.rawValue)")
    }
    try apps.check(payload.origin)
    return (payload, jws)
  }

  /// Checks signature and chain and decodes the payload, in the order in which an attacker's data costs least.
  private func authentic<Payload: SignedPayload>(
    _ jws: JSONWebSignature, allowingUnsigned: Bool
  ) throws(Rejection) -> Payload {
    // Xcode encloses one certificate of its own. Data that names Xcode as its environment is only accepted for Xcode,
    // since `verified` checks the environment again with the rest of the origin.
    if allowingUnsigned, try jws.header().certificates.count != 3,
      let payload = try? jws.decoded(as: Payload.self), payload.origin.environment?.isSignedByApple == false
    {
      try signatures.checkIntegrityOnly(jws)
      return payload
    }
    var payload: Payload?
    try signatures.check(jws) { () throws(Rejection) in
      let decoded = try jws.decoded(as: Payload.self)
      guard let date = decoded.dateOfSigning else {
        // If the verifier took the present time instead, the same text would be valid today and invalid tomorrow.
        throw Rejection(.dateMissing, "the payload has no date of signing")
      }
      payload = decoded
      return date
    }
    guard let payload else { preconditionFailure("A signature was accepted without looking at its date.") }
    return payload
  }

  private func related(
    _ jws: String, to transaction: TransactionPayload
  ) throws(Rejection) -> Checked<RenewalInfoPayload> {
    guard let environment = transaction.environment, let purchase = transaction.originalTransactionId else {
      throw Rejection(.unrelated, "the transaction lacks its environment or its original id")
    }
    let renewalInfo: Checked<RenewalInfoPayload> = try verified(jws, expecting: .anyApp(in: [environment]))
    guard renewalInfo.payload.originalTransactionId?.exact == purchase.exact else {
      throw Rejection(.unrelated, "the renewal information is about another purchase than the transaction")
    }
    return renewalInfo
  }

  private func nested(
    in payload: NotificationPayload, expecting apps: AcceptedApps
  ) throws(Rejection) -> VerifiedNotification {
    var result = VerifiedNotification(payload: payload)
    let origin = payload.origin
    if let text = payload.data?.signedTransactionInfo {
      let transaction: TransactionPayload = try verified(text, expecting: apps).payload
      try Self.check(transaction.origin, isFrom: origin)
      result.transaction = transaction
    }
    if let text = payload.data?.signedRenewalInfo {
      if let transaction = result.transaction {
        result.renewalInfo = try related(text, to: transaction).payload
      } else {
        let renewalInfo: RenewalInfoPayload = try verified(text, expecting: apps).payload
        guard renewalInfo.environment == origin.environment else {
          throw Rejection(.unrelated, "the nested renewal information is from another environment")
        }
        result.renewalInfo = renewalInfo
      }
    }
    if let text = payload.appData?.signedAppTransactionInfo {
      let appTransaction: AppTransactionPayload = try verified(text, expecting: apps).payload
      try Self.check(appTransaction.origin, isFrom: origin)
      result.appTransaction = appTransaction
    }
    return result
  }

  private static func check(_ nested: PayloadOrigin, isFrom outer: PayloadOrigin) throws(Rejection) {
    guard nested.bundleId?.exact == outer.bundleId?.exact, nested.environment == outer.environment else {
      throw Rejection(.unrelated, "the nested data is from another app or environment than the notification")
    }
  }
}

import Domain
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
    try? JSONText(JSONWebSignature(jws).payload, limits: .jwsPayload).decoded()
  }

  /// A verified payload beside the parts of its text.
  typealias Checked<Payload> = (payload: Payload, jws: JSONWebSignature)

  /// Takes a text through every step but the comparison with other texts.
  ///
  /// - Parameter allowingUnsigned: whether data of Xcode passes, if `apps` lists that environment.
  func verified<Payload: SignedPayload>(
    _ text: String, expecting apps: AcceptedApps, allowingUnsigned: Bool = true
  ) throws(Rejection) -> Checked<Payload> {
    let jws = try JSONWebSignature(text)
    let payload: Payload = try authentic(jws, allowingUnsigned: allowingUnsigned && apps.includesUnsignedEnvironments)
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
    guard let environment = transaction.environment else {
      throw Rejection(.unrelated, "the transaction lacks its environment")
    }
    let renewalInfo: Checked<RenewalInfoPayload> = try verified(jws, expecting: .anyApp(in: [environment]))
    try Self.check(renewalInfo.payload, isAboutThePurchaseOf: transaction)
    return renewalInfo
  }

  /// Checks that renewal information concerns the purchase of a transaction.
  static func check(
    _ renewalInfo: RenewalInfoPayload, isAboutThePurchaseOf transaction: TransactionPayload
  ) throws(Rejection) {
    guard let purchase = transaction.originalTransactionId, let other = renewalInfo.originalTransactionId,
      purchase == other
    else {
      throw Rejection(.unrelated, "the renewal information is about another purchase than the transaction")
    }
  }
}

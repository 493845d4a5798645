import Crypto
import Domain

/// Verifies app receipts (PKCS #7, StoreKit 1) without a call to any server.
///
/// Apple's own server libraries only take an id out of a receipt and verify nothing.
public struct ReceiptVerifier: Sendable {
  /// The verifier refuses a longer text unread. A receipt with 187 purchases has 100 KiB.
  public static let maxLength = 8 << 20

  private let roots: TrustedRoots

  /// Creates a verifier that trusts the given roots.
  ///
  /// With ``TrustedRoots/xcodeSigners`` it also takes receipts of the environment Xcode, if the caller accepts that
  /// environment.
  public init(roots: TrustedRoots = .appleForReceipts) {
    self.roots = roots
  }

  /// Verifies a receipt in base64, as apps send it; line breaks are allowed.
  ///
  /// - Parameter device: the bytes of the device's id, when the receipt must be of that device.
  public func receipt(
    _ base64: String, expecting apps: AcceptedApps, device: [UInt8]? = nil
  ) -> Verdict<AppReceipt> {
    Verdict { () throws(Rejection) in try verified(Self.bytes(of: base64), expecting: apps, device: device) }
  }

  /// Verifies a receipt as it lies in an app's bundle.
  public func receipt(
    _ bytes: [UInt8], expecting apps: AcceptedApps, device: [UInt8]? = nil
  ) -> Verdict<AppReceipt> {
    Verdict { () throws(Rejection) in try verified(bytes, expecting: apps, device: device) }
  }

  /// Checks a receipt in the same order as a signed text. Data that costs an attacker nothing must not cost a chain.
  private func verified(
    _ bytes: [UInt8], expecting apps: AcceptedApps, device: [UInt8]?
  ) throws(Rejection) -> AppReceipt {
    guard bytes.count <= Self.maxLength else {
      throw Rejection(.malformed, "longer than \(Self.maxLength) bytes")
    }
    let message = try Self.message(bytes)
    let payload = try ReceiptPayload(message.content)
    let receipt = payload.receipt
    try checkSigner(of: message, receipt)
    try apps.check(
      PayloadOrigin(bundleId: receipt.bundleId, environment: receipt.environment, mayLackEnvironment: true))
    if let device {
      guard let hash = payload.deviceHash, constantTimeEqual(hash, payload.deviceHash(for: device)) else {
        throw Rejection(.deviceMismatch, "the receipt was made for another device")
      }
    }
    return receipt
  }

  private static func bytes(of base64: String) throws(Rejection) -> [UInt8] {
    guard base64.utf8.count <= maxLength else { throw Rejection(.malformed, "longer than \(maxLength) bytes") }
    let text = String(decoding: base64.utf8.filter { $0 != 0x0a && $0 != 0x0d }, as: UTF8.self)
    if TransactionReceipt.begins(text) { throw Self.transactionReceipt }
    if text.hasPrefix("eyJ") { throw Rejection(.kindMismatch, "this is a JWS, not an app receipt") }
    guard let bytes = Base64.decode(text) else { throw Rejection(.malformed, "not base64 with padding") }
    return bytes
  }

  private static func message(_ bytes: [UInt8]) throws(Rejection) -> CMSSignedData {
    if TransactionReceipt.begins(bytes) { throw transactionReceipt }
    do {
      return try CMSSignedData(bytes)
    } catch {
      switch error {
      case .malformed(let cause): throw Rejection(.malformed, "not an app receipt: \(cause)")
      case .signatureInvalid: throw Rejection(.signatureInvalid, "the enclosed signer did not sign this")
      }
    }
  }

  /// Whether a text is a transaction receipt of iOS 6 or earlier, in base64 or as it is. Without this question, one in
  /// base64 can look like a JWS.
  public static func isTransactionReceipt(_ text: String) -> Bool { TransactionReceipt.begins(text) }

  private static let transactionReceipt = Rejection(
    .transactionReceipt, "this is a transaction receipt of iOS 6 or earlier, not an app receipt")

  private func checkSigner(of message: CMSSignedData, _ receipt: AppReceipt) throws(Rejection) {
    let signer = message.signer
    let date = receipt.receiptCreationDate
    if roots.xcodeSigners.contains(where: { $0.der == signer.der }) {
      // The configuration trusts this signer, so it needs no marker. But it must not sign data that only Apple signs.
      guard receipt.environment == .xcode, (signer.notBefore..<max(signer.notBefore, signer.notAfter)).contains(date)
      else {
        throw Rejection(
          .chainUntrusted, "the signer is Xcode's certificate, but the receipt is not from Xcode")
      }
      return
    }
    let (intermediate, root) = try trustedIssuers(of: signer, among: message.certificates, at: date)
    guard signer.hasExtension(SignatureVerification.leafMarkerOID) else {
      throw Rejection(.markerOIDMissing, "the signer's certificate is not one for signing purchases")
    }
    // Apple's root has issued authorities for other purposes too, so Apple's authorities need the marker. An operator's
    // own root vouches for the authority by issuing it, and test authorities in use carry no marker.
    let isApple = TrustedRoots.apple.certificates.contains { $0.der == root.der }
    guard !isApple || intermediate.hasExtension(SignatureVerification.intermediateMarkerOID) else {
      throw Rejection(
        .markerOIDMissing, "the intermediate certificate has no marker of Apple's developer services")
    }
  }

  /// Finds the authority between the signer and a pinned root, judged at the date that the signature covers.
  private func trustedIssuers(
    of signer: Certificate, among certificates: [Certificate], at date: Int64
  ) throws(Rejection) -> (intermediate: Certificate, root: Certificate) {
    // Each candidate costs two signature checks. Real receipts have one or two candidates.
    let candidates = certificates.filter { $0.der != signer.der && signer.hasIssuer(namedLike: $0) }.prefix(4)
    var reason = "no enclosed certificate issued the signer's"
    for intermediate in candidates {
      do {
        // Level 0 accepts SHA-1: Apple signed these certificates with it until 2023 (TN3138). It also accepts weaker
        // algorithms, so the next check refuses them.
        let root = try CertificateChain(leaf: signer, intermediate: intermediate).verify(
          against: roots.certificates, at: date, securityLevel: 0)
        guard [signer, intermediate].allSatisfy({ $0.signatureSecurityBits >= 63 && $0.keySecurityBits >= 112 }) else {
          throw Rejection(.chainUntrusted, "a certificate is signed with less than SHA-1, or its key is too short")
        }
        return (intermediate, root)
      } catch let untrusted as CertificateChain.Untrusted {
        reason = SignatureVerification.text(of: untrusted)
      } catch let rejection as Rejection {
        throw rejection
      } catch {
        reason = "\(error)"
      }
    }
    throw Rejection(.chainUntrusted, reason)
  }
}

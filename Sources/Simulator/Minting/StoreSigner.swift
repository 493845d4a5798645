import Crypto
import Formats

/// Signs payloads and app receipts with one chain of certificates. Apple, too, uses one kind of leaf for both.
struct StoreSigner: Sendable {
  private let payloads: PayloadSigner
  private let leaf: CertificateAuthority
  private let issuers: [IssuedCertificate]
  /// The first part of every JWS: it depends only on the chain.
  let header: String

  init(leaf: CertificateAuthority, intermediate: CertificateAuthority, root: CertificateAuthority) throws {
    payloads = try PayloadSigner(leaf: leaf, intermediate: intermediate, root: root)
    self.leaf = leaf
    issuers = [intermediate.certificate, root.certificate]
    header = String(try payloads.sign(Array("{}".utf8)).prefix { $0 != "." })
  }

  /// Returns the JWS of a payload.
  func sign(_ payload: [UInt8]) throws -> String { try payloads.sign(payload) }

  /// Returns the JWS of a payload with a change after the signature.
  func signAndTamper(_ payload: [UInt8]) throws -> String { try payloads.signAndTamper(payload) }

  /// Returns an app receipt in base64.
  func receipt(_ content: [UInt8]) throws -> String {
    Base64.encode(try leaf.signedMessage(content, enclosing: issuers))
  }

  /// Returns an app receipt with a change after the signature.
  func tamperedReceipt(_ content: [UInt8]) throws -> String {
    var message = try leaf.signedMessage(content, enclosing: issuers)
    if let place = message.firstRange(of: content) { message[place.upperBound - 1] ^= 1 }
    return Base64.encode(message)
  }
}

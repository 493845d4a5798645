import COpenSSL

/// A public key on P-256 that checks ES256 signatures.
public final class P256PublicKey: Sendable {
  private let handle: KeyHandle
  private let verification: DigestVerification?

  init(handle: KeyHandle) {
    self.handle = handle
    verification = DigestVerification(by: handle)
  }

  private static let operation = "read a P-256 public key"

  /// Reads a `BEGIN PUBLIC KEY` block. A key of another kind or curve is an error.
  public convenience init(pem: String) throws(CryptoError) {
    try self.init(checking: KeyHandle.readingPublicPEM(pem, operation: Self.operation))
  }

  /// Creates the key of the coordinates of its point, 32 bytes each. A point that is not on the curve is an error.
  public convenience init(x: [UInt8], y: [UInt8]) throws(CryptoError) {
    guard x.count == 32, y.count == 32 else {
      throw CryptoError(operation: Self.operation, cause: "a coordinate has not 32 bytes")
    }
    let der = SubjectPublicKeyInfo.p256(x: x, y: y)
    try self.init(checking: KeyHandle.readingPublicDER(der, operation: Self.operation))
  }

  private convenience init(checking handle: KeyHandle) throws(CryptoError) {
    guard handle.isP256 else { throw CryptoError(operation: Self.operation, cause: "another kind of key or curve") }
    self.init(handle: handle)
    guard verification != nil else {
      throw CryptoError(operation: Self.operation, cause: "OpenSSL does not take it")
    }
  }

  /// Returns whether `rs` (r‖s, exactly 64 bytes) signs SHA-256 of `message`.
  public func isValidSignature(_ rs: [UInt8], for message: [UInt8]) -> Bool {
    isValidSignature(rs, forDigest: SHA256.hash(message))
  }

  /// Returns whether `rs` (r‖s, exactly 64 bytes) signs a message with this SHA-256.
  public func isValidSignature(_ rs: [UInt8], forDigest digest: [UInt8]) -> Bool {
    guard digest.count == 32, let verification, let der = ECDSASignature.der(fromRaw: rs) else { return false }
    return verification.accepts(der, forDigest: digest)
  }

  /// The key as a `BEGIN PUBLIC KEY` block.
  public var pem: String { handle.publicPEM() }
}

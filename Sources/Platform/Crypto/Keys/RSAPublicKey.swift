import COpenSSL

/// An RSA public key of at least 2048 bits that checks RS256 signatures.
public final class RSAPublicKey: Sendable {
  private let handle: KeyHandle

  /// Reads a `BEGIN PUBLIC KEY` block. A key of another kind or of fewer than 2048 bits is an error.
  public init(pem: String) throws(CryptoError) {
    let operation = "read an RSA public key"
    handle = try KeyHandle.readingPublicPEM(pem, operation: operation)
    guard EVP_PKEY_get_base_id(handle.pointer) == EVP_PKEY_RSA else {
      throw CryptoError(operation: operation, cause: "another kind of key")
    }
    let bits = EVP_PKEY_get_bits(handle.pointer)
    guard bits >= 2048 else { throw CryptoError(operation: operation, cause: "\(bits) bits are fewer than 2048") }
  }

  /// Returns whether `signature` (PKCS#1 version 1.5) signs SHA-256 of `message`.
  public func isValidPKCS1SHA256Signature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    handle.verifies(signature, for: message, SHA256.algorithm)
  }

  /// The key as a `BEGIN PUBLIC KEY` block.
  public var pem: String { handle.publicPEM() }
}

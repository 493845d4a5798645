import COpenSSL

/// An RSA public key of at least 2048 bits that checks RS256 signatures.
public final class RSAPublicKey: Sendable {
  private let handle: KeyHandle

  private static let operation = "read an RSA public key"
  /// A check takes four times as long for twice the bits.
  private static let mostBits = 8192

  private init(handle: KeyHandle) throws(CryptoError) {
    guard EVP_PKEY_get_base_id(handle.pointer) == EVP_PKEY_RSA else {
      throw CryptoError(operation: Self.operation, cause: "another kind of key")
    }
    let bits = EVP_PKEY_get_bits(handle.pointer)
    guard bits >= 2048 else { throw CryptoError(operation: Self.operation, cause: "\(bits) bits are fewer than 2048") }
    self.handle = handle
  }

  /// Reads a `BEGIN PUBLIC KEY` block. A key of another kind or of fewer than 2048 bits is an error.
  public convenience init(pem: String) throws(CryptoError) {
    try self.init(handle: KeyHandle.readingPublicPEM(pem, operation: Self.operation))
  }

  /// Creates the key of its two numbers, the most significant byte first.
  ///
  /// With the exponent 1 every text would be its own signature. So the exponent must be odd and at least 3.
  public convenience init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
    let digits = Array(exponent.drop { $0 == 0 })
    guard (1...8).contains(digits.count), digits[digits.count - 1] & 1 == 1, digits != [1] else {
      throw CryptoError(operation: Self.operation, cause: "the exponent is not an odd number from 3")
    }
    guard modulus.drop(while: { $0 == 0 }).count <= Self.mostBits / 8 else {
      throw CryptoError(operation: Self.operation, cause: "more than \(Self.mostBits) bits")
    }
    let der = SubjectPublicKeyInfo.rsa(modulus: modulus, exponent: digits)
    try self.init(handle: KeyHandle.readingPublicDER(der, operation: Self.operation))
  }

  /// Returns whether `signature` (PKCS#1 version 1.5) signs SHA-256 of `message`.
  public func isValidPKCS1SHA256Signature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    handle.verifies(signature, for: message, SHA256.algorithm)
  }

  /// The key as a `BEGIN PUBLIC KEY` block.
  public var pem: String { handle.publicPEM() }
}

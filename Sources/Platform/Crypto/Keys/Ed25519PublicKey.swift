import COpenSSL

/// A public key that checks Ed25519 signatures (RFC 8032).
public final class Ed25519PublicKey: Sendable {
  private let handle: KeyHandle

  /// Creates the key of its 32 bytes.
  ///
  /// - Throws: ``CryptoError`` for another number of bytes.
  public init(_ bytes: [UInt8]) throws(CryptoError) {
    guard let pointer = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) else {
      throw .taken(during: "make an Ed25519 public key of \(bytes.count) bytes")
    }
    handle = KeyHandle(takingOwnershipOf: pointer)
  }

  /// Reads a `BEGIN PUBLIC KEY` block. A key of another kind is an error.
  public init(pem: String) throws(CryptoError) {
    let operation = "read an Ed25519 public key"
    handle = try KeyHandle.readingPublicPEM(pem, operation: operation)
    guard EVP_PKEY_get_base_id(handle.pointer) == EVP_PKEY_ED25519 else {
      throw CryptoError(operation: operation, cause: "another kind of key")
    }
  }

  /// Returns whether `signature` (64 bytes) signs `message`.
  public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
    handle.verifies(signature, for: message)
  }
}

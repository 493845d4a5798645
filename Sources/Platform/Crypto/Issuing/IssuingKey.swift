import COpenSSL

/// A private key for which, or with which, an authority issues certificates.
///
/// It is only for the simulator and for tests: a production process never issues certificates.
public final class IssuingKey: Sendable {
  /// The curves of Apple's own chain.
  public enum Curve: String, Sendable {
    /// The curve of Apple's root and intermediate.
    case p384 = "P-384"
    /// The curve of Apple's leaf, and therefore of ES256.
    case p256 = "P-256"
  }

  let handle: KeyHandle

  private init(takingOwnershipOf pointer: OpaquePointer) {
    handle = KeyHandle(takingOwnershipOf: pointer)
  }

  /// Reads an unencrypted PKCS#8 block.
  public convenience init(pem: String) throws(CryptoError) {
    guard let pointer = MemoryBIO.reading(pem, { PEM_read_bio_PrivateKey($0, nil, noPassword, nil) }) else {
      throw .taken(during: "read an issuing key")
    }
    self.init(takingOwnershipOf: pointer)
  }

  /// Returns a new random key.
  public static func generate(_ curve: Curve) throws(CryptoError) -> IssuingKey {
    let operation = "generate an issuing key on \(curve.rawValue)"
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .taken(during: operation) }
    defer { EVP_PKEY_CTX_free(context) }
    var pointer: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, curve.rawValue) == 1,
      EVP_PKEY_generate(context, &pointer) == 1, let pointer
    else { throw .taken(during: operation) }
    return IssuingKey(takingOwnershipOf: pointer)
  }

  /// The key as an unencrypted PKCS#8 block. It is a secret.
  public var pem: String {
    let bytes = MemoryBIO.written { PEM_write_bio_PKCS8PrivateKey($0, handle.pointer, nil, nil, 0, nil, nil) == 1 }
    guard let bytes else { preconditionFailure("A private key that was read could not be written.") }
    return String(decoding: bytes, as: UTF8.self)
  }
}

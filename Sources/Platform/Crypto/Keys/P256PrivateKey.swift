import COpenSSL

/// A private key on P-256 that makes ES256 signatures, such as the `.p8` keys of App Store Connect.
public final class P256PrivateKey: Sendable {
  let handle: KeyHandle

  init(handle: KeyHandle) {
    self.handle = handle
  }

  /// Reads an unencrypted PKCS#8 `BEGIN PRIVATE KEY` block. A key of another kind or curve is an error.
  public convenience init(pem: String) throws(CryptoError) {
    let operation = "read a P-256 private key"
    guard let pointer = MemoryBIO.reading(pem, { PEM_read_bio_PrivateKey($0, nil, noPassword, nil) }) else {
      throw .taken(during: operation)
    }
    let handle = KeyHandle(takingOwnershipOf: pointer)
    guard handle.isP256 else { throw CryptoError(operation: operation, cause: "another kind of key or curve") }
    self.init(handle: handle)
  }

  /// Returns a new random key.
  public static func generate() throws(CryptoError) -> P256PrivateKey {
    let operation = "generate a P-256 key"
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .taken(during: operation) }
    defer { EVP_PKEY_CTX_free(context) }
    var pointer: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
      EVP_PKEY_generate(context, &pointer) == 1, let pointer
    else { throw .taken(during: operation) }
    return P256PrivateKey(handle: KeyHandle(takingOwnershipOf: pointer))
  }

  /// Returns an ES256 signature over SHA-256 of `message`: r‖s, 64 bytes.
  public func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
    let operation = "sign with a P-256 key"
    guard let context = EVP_MD_CTX_new() else { throw .taken(during: operation) }
    defer { EVP_MD_CTX_free(context) }
    // A P-256 signature in DER has at most 72 bytes.
    var der = [UInt8](repeating: 0, count: 80)
    var count = der.count
    guard EVP_DigestSignInit(context, nil, SHA256.algorithm, nil, handle.pointer) == 1,
      EVP_DigestSign(context, &der, &count, message, message.count) == 1,
      let raw = ECDSASignature.raw(fromDER: Array(der.prefix(count)))
    else { throw .taken(during: operation) }
    return raw
  }

  /// The public half.
  public var publicKey: P256PublicKey {
    // The encoding comes between, so that the result cannot leak the private half through a shared handle.
    var output: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(handle.pointer, &output)
    defer { CRYPTO_free(output, #fileID, #line) }
    var start = output.map { UnsafePointer($0) }
    guard count > 0, let pointer = d2i_PUBKEY(nil, &start, Int(count)) else {
      preconditionFailure("The public half of a valid key could not be encoded.")
    }
    return P256PublicKey(handle: KeyHandle(takingOwnershipOf: pointer))
  }

  /// The key as an unencrypted PKCS#8 block. It is a secret.
  public var pem: String {
    let bytes = MemoryBIO.written { PEM_write_bio_PKCS8PrivateKey($0, handle.pointer, nil, nil, 0, nil, nil) == 1 }
    guard let bytes else { preconditionFailure("A private key that was read could not be written.") }
    return String(decoding: bytes, as: UTF8.self)
  }
}

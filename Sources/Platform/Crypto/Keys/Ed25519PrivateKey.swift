import COpenSSL

/// A private key that makes Ed25519 signatures (RFC 8032). It keeps the 32 bytes of its seed.
public final class Ed25519PrivateKey: Sendable {
  private let handle: KeyHandle

  /// Creates the key of a seed.
  ///
  /// - Throws: ``CryptoError`` unless the seed has 32 bytes.
  public init(seed: [UInt8]) throws(CryptoError) {
    guard let pointer = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
      throw .taken(during: "make an Ed25519 key of \(seed.count) bytes")
    }
    handle = KeyHandle(takingOwnershipOf: pointer)
  }

  /// The 32 bytes of the public key.
  public var publicKey: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      var length = 32
      let result = EVP_PKEY_get_raw_public_key(handle.pointer, output.baseAddress, &length)
      precondition(result == 1 && length == 32, "An Ed25519 key always has a public half of 32 bytes.")
      count = 32
    }
  }

  /// Returns the 64 bytes of the signature over `message`. The same message always gets the same signature.
  public func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
    let operation = "sign with an Ed25519 key"
    guard let context = EVP_MD_CTX_new() else { throw .taken(during: operation) }
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 64)
    var count = signature.count
    // Ed25519 does its own hashing, so the call names no digest.
    guard EVP_DigestSignInit(context, nil, nil, nil, handle.pointer) == 1,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == 64
    else { throw .taken(during: operation) }
    return signature
  }
}

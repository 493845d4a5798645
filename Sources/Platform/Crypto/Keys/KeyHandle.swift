import COpenSSL

/// An `EVP_PKEY` and the operations that all kinds of keys share.
final class KeyHandle: @unchecked Sendable {
  // Sendable is right: an EVP_PKEY does not change after it was made, its reference count is atomic, and OpenSSL guards
  // its own caches with its own lock. `deinit` frees the pointer once.
  let pointer: OpaquePointer

  /// Takes over one reference of `pointer`.
  init(takingOwnershipOf pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    EVP_PKEY_free(pointer)
  }

  /// Whether this is a key on the curve P-256. Its parameters may name the curve or spell it out.
  var isP256: Bool { curve == "prime256v1" }

  /// OpenSSL's number of the algorithm, such as `EVP_PKEY_RSA`.
  var algorithm: Int32 { EVP_PKEY_get_base_id(pointer) }

  /// OpenSSL's name of the curve, such as `secp384r1`; `nil` for a key of another kind.
  var curve: String? {
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    guard algorithm == EVP_PKEY_EC,
      EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1
    else {
      ERR_clear_error()
      return nil
    }
    return String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Returns whether `signature` is a signature by this key over `message`. The scheme hashes by itself if `algorithm`
  /// is `nil`.
  func verifies(_ signature: [UInt8], for message: [UInt8], _ algorithm: OpaquePointer? = nil) -> Bool {
    guard let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      // A wrong signature is an answer, not an error: the next call must not find an error of this one.
      ERR_clear_error()
    }
    return EVP_DigestVerifyInit(context, nil, algorithm, nil, pointer) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// Returns the public half as PEM.
  func publicPEM() -> String {
    let bytes = MemoryBIO.written { PEM_write_bio_PUBKEY($0, pointer) == 1 }
    guard let bytes else { preconditionFailure("A public key that was read could not be written.") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads a `BEGIN PUBLIC KEY` block.
  static func readingPublicPEM(_ pem: String, operation: String) throws(CryptoError) -> KeyHandle {
    guard let pointer = MemoryBIO.reading(pem, { PEM_read_bio_PUBKEY($0, nil, noPassword, nil) }) else {
      throw .taken(during: operation)
    }
    return KeyHandle(takingOwnershipOf: pointer)
  }

  /// Reads a public key in DER.
  static func readingPublicDER(_ der: [UInt8], operation: String) throws(CryptoError) -> KeyHandle {
    let pointer = der.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      return d2i_PUBKEY(nil, &start, bytes.count)
    }
    guard let pointer else { throw .taken(during: operation) }
    return KeyHandle(takingOwnershipOf: pointer)
  }
}

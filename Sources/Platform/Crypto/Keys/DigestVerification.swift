import COpenSSL

/// The check of signatures over digests by one key, prepared once.
///
/// At each preparation OpenSSL looks the algorithm up by name, under a lock. That costs 15,000 instructions beside the
/// 830,000 of a check on P-256. One preparation serves any number of checks (EVP_PKEY_verify(3)), but only for one
/// thread at a time.
final class DigestVerification: @unchecked Sendable {
  // Sendable is right: only the holder of `lock`, which is made for several threads, uses the object behind `context`.
  // `init` sets both pointers once, and `deinit` frees them once.
  private let context: OpaquePointer
  private let lock: UnsafeMutableRawPointer

  /// Prepares a check; `nil` when OpenSSL does not take the key. The key may be anybody's: it then signs nothing.
  init?(by key: KeyHandle) {
    let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
    guard let context, EVP_PKEY_verify_init(context) == 1, let lock = CRYPTO_THREAD_lock_new() else {
      EVP_PKEY_CTX_free(context)
      ERR_clear_error()
      return nil
    }
    (self.context, self.lock) = (context, lock)
  }

  deinit {
    EVP_PKEY_CTX_free(context)
    CRYPTO_THREAD_lock_free(lock)
  }

  /// Returns whether `signature` (DER for ECDSA) is a signature over a digest.
  func accepts(_ signature: [UInt8], forDigest digest: [UInt8]) -> Bool {
    guard CRYPTO_THREAD_write_lock(lock) == 1 else { return false }
    let isRight = EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
    CRYPTO_THREAD_unlock(lock)
    // A wrong signature is an answer, not an error: the next call must not find an error of this one.
    if !isRight { ERR_clear_error() }
    return isRight
  }
}

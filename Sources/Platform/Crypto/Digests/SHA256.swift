import COpenSSL

/// SHA-256.
public enum SHA256 {
  /// The number of bytes of a digest.
  public static let size = 32

  /// The algorithm, fetched once. OpenSSL 3 otherwise looks it up by name at every call.
  ///
  /// `nonisolated(unsafe)` is right: an `EVP_MD` never changes after it was fetched, and this one is never freed.
  nonisolated(unsafe) static let algorithm: OpaquePointer = {
    guard let algorithm = EVP_MD_fetch(nil, "SHA2-256", nil) else {
      preconditionFailure("OpenSSL has no SHA-256: \(CryptoError.taken(during: "fetch SHA-256"))")
    }
    return algorithm
  }()

  /// Returns the 32 bytes of the digest of `bytes`.
  public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
    bytes.withContiguousStorageIfAvailable(digest) ?? Array(bytes).withUnsafeBufferPointer(digest)
  }

  private static func digest(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      var length: UInt32 = 0
      let result = EVP_Digest(bytes.baseAddress, bytes.count, output.baseAddress, &length, algorithm, nil)
      precondition(result == 1 && length == 32, "SHA-256 failed, which only happens when memory is exhausted.")
      count = 32
    }
  }
}

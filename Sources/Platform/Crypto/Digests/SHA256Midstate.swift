import COpenSSL

/// SHA-256 after a first part. Texts that begin alike then need only the hashing of their rest.
public final class SHA256Midstate: @unchecked Sendable {
  // Sendable is right: the state is complete when `init` ends. From then on this type only copies it.
  private let context: OpaquePointer

  /// Hashes the first part.
  public init(_ firstPart: some Collection<UInt8>) {
    context = Self.newContext()
    let bytes = Array(firstPart)
    let result = EVP_DigestInit_ex(context, SHA256.algorithm, nil) & EVP_DigestUpdate(context, bytes, bytes.count)
    precondition(result == 1, "SHA-256 failed, which only happens when memory is exhausted.")
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  /// Returns the 32 bytes of the digest of the first part followed by `rest`.
  public func hash(followedBy rest: ArraySlice<UInt8>) -> [UInt8] {
    let copy = Self.newContext()
    defer { EVP_MD_CTX_free(copy) }
    return [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      var length: UInt32 = 0
      let result = rest.withUnsafeBytes { bytes in
        EVP_MD_CTX_copy_ex(copy, context) & EVP_DigestUpdate(copy, bytes.baseAddress, bytes.count)
          & EVP_DigestFinal_ex(copy, output.baseAddress, &length)
      }
      precondition(result == 1 && length == 32, "SHA-256 failed, which only happens when memory is exhausted.")
      count = 32
    }
  }

  private static func newContext() -> OpaquePointer {
    guard let context = EVP_MD_CTX_new() else {
      preconditionFailure("OpenSSL could not allocate, which only happens when memory is exhausted.")
    }
    return context
  }
}

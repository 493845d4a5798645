import COpenSSL

/// SHA-1. Use it only for the device hash of app receipts, whose form Apple fixed: it is not collision resistant.
public enum SHA1 {
  /// Returns the 20 bytes of the digest of `bytes`.
  public static func hash(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 20) { output, count in
      var length: UInt32 = 0
      let result = EVP_Digest(bytes, bytes.count, output.baseAddress, &length, EVP_sha1(), nil)
      precondition(result == 1 && length == 20, "SHA-1 failed, which only happens when memory is exhausted.")
      count = 20
    }
  }
}

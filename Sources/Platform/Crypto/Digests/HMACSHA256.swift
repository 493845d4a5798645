import COpenSSL

/// HMAC with SHA-256.
public enum HMACSHA256 {
  /// Returns the 32 bytes that authenticate `message` under `key`. Compare them with ``constantTimeEqual(_:_:)``.
  public static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      var length: UInt32 = 0
      let result = HMAC(
        SHA256.algorithm, key, Int32(key.count), message, message.count, output.baseAddress, &length)
      precondition(result != nil && length == 32, "HMAC failed, which only happens when memory is exhausted.")
      count = 32
    }
  }
}

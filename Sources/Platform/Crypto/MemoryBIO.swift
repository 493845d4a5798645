import COpenSSL

/// OpenSSL's in-memory stream, for the functions that read and write PEM.
enum MemoryBIO {
  /// Runs `body` with a stream over a copy of `text`. The stream ends with the call.
  static func reading<Value>(_ text: String, _ body: (OpaquePointer) -> Value?) -> Value? {
    var text = text
    return text.withUTF8 { bytes in
      guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(bio) }
      return body(bio)
    }
  }

  /// Returns the bytes that `body` wrote to a new stream, or `nil` when it returns false.
  static func written(_ body: (OpaquePointer) -> Bool) -> [UInt8]? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(bio) }
    guard body(bio) else { return nil }
    // BIO_get_mem_data and BIO_pending are macros, which Swift does not see.
    let count = BIO_ctrl(bio, BIO_CTRL_PENDING, 0, nil)
    var bytes = [UInt8](repeating: 0, count: max(0, count))
    let read = BIO_read(bio, &bytes, Int32(clamping: bytes.count))
    return Int(read) == bytes.count ? bytes : nil
  }
}

/// A password callback that gives no password. Without it OpenSSL would ask for an encrypted key's password on the
/// terminal.
func noPassword(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isForWriting: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  -1
}

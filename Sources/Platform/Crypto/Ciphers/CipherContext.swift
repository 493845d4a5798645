import COpenSSL

/// An `EVP_CIPHER_CTX` for one text under AES-256-GCM.
final class CipherContext {
  enum Direction: Int32 {
    case decrypts = 0
    case encrypts = 1
  }

  private let pointer: OpaquePointer

  /// The algorithm, fetched once. OpenSSL 3 otherwise looks it up by name at every call.
  ///
  /// `nonisolated(unsafe)` is right: an `EVP_CIPHER` never changes after it was fetched, and this one is never freed.
  nonisolated(unsafe) private static let algorithm: OpaquePointer = {
    guard let algorithm = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
      preconditionFailure("OpenSSL has no AES-256-GCM: \(CryptoError.taken(during: "fetch AES-256-GCM"))")
    }
    return algorithm
  }()

  /// - Throws: ``CryptoError`` unless the nonce has 12 bytes, the length that the initialization expects.
  init(_ direction: Direction, key: [UInt8], nonce: [UInt8]) throws(CryptoError) {
    guard nonce.count == AES256GCM.nonceSize, key.count == AES256GCM.keySize else {
      throw CryptoError(operation: "use AES-256-GCM", cause: "the nonce has \(nonce.count) bytes")
    }
    guard let pointer = EVP_CIPHER_CTX_new() else { throw .taken(during: "allocate a cipher") }
    self.pointer = pointer
    try check(EVP_CipherInit_ex2(pointer, Self.algorithm, key, nonce, direction.rawValue, nil))
  }

  deinit {
    // This also clears the key schedule from the memory.
    EVP_CIPHER_CTX_free(pointer)
  }

  /// Adds data that the tag authenticates. It comes before the text.
  func authenticate(_ data: [UInt8]) throws(CryptoError) {
    // Without a place for its result, OpenSSL takes the bytes as additional data.
    var count: Int32 = 0
    try check(EVP_CipherUpdate(pointer, nil, &count, data, try Self.length(data)))
  }

  /// Encrypts or decrypts.
  func update(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    // OpenSSL takes no bytes as the end of the text, and no place for them as additional data.
    guard !bytes.isEmpty else { return [] }
    var result = [UInt8](repeating: 0, count: bytes.count)
    var count: Int32 = 0
    try check(EVP_CipherUpdate(pointer, &result, &count, bytes, try Self.length(bytes)))
    guard Int(count) == result.count else { throw CryptoError(operation: Self.operation, cause: "short result") }
    return result
  }

  /// Ends the text. When it decrypts, this compares the tag.
  func finish() throws(CryptoError) {
    var (rest, count) = ([UInt8](repeating: 0, count: 16), Int32(0))
    try check(EVP_CipherFinal_ex(pointer, &rest, &count))
  }

  /// The tag of the encrypted text, after ``finish()``.
  func tag() throws(CryptoError) -> [UInt8] {
    var tag = [UInt8](repeating: 0, count: AES256GCM.tagSize)
    try check(EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag))
    return tag
  }

  /// Says which tag ``finish()`` must find.
  func expect(tag: [UInt8]) throws(CryptoError) {
    var tag = tag
    try check(EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag))
  }

  private static let operation = "use AES-256-GCM"

  private static func length(_ bytes: [UInt8]) throws(CryptoError) -> Int32 {
    guard let length = Int32(exactly: bytes.count) else {
      throw CryptoError(operation: operation, cause: "the text has \(bytes.count) bytes")
    }
    return length
  }

  private func check(_ result: Int32) throws(CryptoError) {
    guard result == 1 else { throw .taken(during: Self.operation) }
  }
}

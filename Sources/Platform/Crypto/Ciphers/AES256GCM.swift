import COpenSSL

/// AES-256-GCM (NIST SP 800-38D). It keeps a text secret, and notices each change of the text or of the data beside it.
public struct AES256GCM: Sendable, Equatable {
  /// The number of bytes of a key.
  public static let keySize = 32
  /// The number of bytes of a nonce. No two texts under one key may have the same nonce.
  public static let nonceSize = 12
  /// The number of bytes of the tag behind a ciphertext.
  public static let tagSize = 16

  private let key: [UInt8]

  /// Creates the cipher of a key.
  ///
  /// - Throws: ``CryptoError`` unless the key has 32 bytes.
  public init(key: [UInt8]) throws(CryptoError) {
    guard key.count == Self.keySize else {
      throw CryptoError(operation: "make an AES-256 key", cause: "it has \(key.count) bytes")
    }
    self.key = key
  }

  /// Returns the ciphertext followed by its tag.
  ///
  /// - Parameter additional: what the tag authenticates besides. The result does not hold it.
  public func seal(
    _ text: [UInt8], nonce: [UInt8], additional: [UInt8]
  ) throws(CryptoError) -> [UInt8] {
    let context = try CipherContext(.encrypts, key: key, nonce: nonce)
    try context.authenticate(additional)
    let ciphertext = try context.update(text)
    try context.finish()
    return ciphertext + (try context.tag())
  }

  /// Returns the text of a ciphertext with its tag; `nil` unless key, nonce, additional data and every byte are those
  /// of ``seal(_:nonce:additional:)``.
  public func open(_ sealed: some Collection<UInt8>, nonce: [UInt8], additional: [UInt8]) -> [UInt8]? {
    guard sealed.count >= Self.tagSize, let context = try? CipherContext(.decrypts, key: key, nonce: nonce) else {
      return nil
    }
    do throws(CryptoError) {
      try context.expect(tag: Array(sealed.suffix(Self.tagSize)))
      try context.authenticate(additional)
      let text = try context.update(Array(sealed.dropLast(Self.tagSize)))
      // Nobody may see the text before this has compared the tag.
      try context.finish()
      return text
    } catch {
      return nil
    }
  }
}

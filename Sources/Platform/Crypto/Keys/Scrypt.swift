import COpenSSL

/// The hash of a password (RFC 7914), which costs time and memory, so that nobody tries many.
public struct Scrypt: Sendable, Equatable {
  /// The costs: 2 to this power of blocks.
  public let logN: Int
  public let salt: [UInt8]
  public let hash: [UInt8]

  /// 2^15 blocks of 1 KiB: 32 MiB and some 80 ms.
  public static let usualLogN = 15
  private static let blockSize: UInt64 = 8

  /// Hashes a password with a new salt. It blocks for a while.
  public init(of password: String, logN: Int = Self.usualLogN) throws(CryptoError) {
    let salt = try secureRandomBytes(16)
    self.init(logN: logN, salt: salt, hash: try Self.hash(password, logN, salt))
  }

  private init(logN: Int, salt: [UInt8], hash: [UInt8]) { (self.logN, self.salt, self.hash) = (logN, salt, hash) }

  /// Reads `scrypt$15$SALT$HASH`, the last two in base64url; `nil` for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, parts[0] == "scrypt", let logN = Int(parts[1]), (10...20).contains(logN),
      let salt = Base64URL.decode(parts[2]), salt.count >= 16, let hash = Base64URL.decode(parts[3]), hash.count == 32
    else { return nil }
    self.init(logN: logN, salt: salt, hash: hash)
  }

  public var text: String { "scrypt$\(logN)$\(Base64URL.encode(salt))$\(Base64URL.encode(hash))" }

  /// A hash that no password has, for a person whom nobody knows.
  public static func ofNobody(logN: Int = Self.usualLogN) throws(CryptoError) -> Scrypt {
    Scrypt(logN: logN, salt: try secureRandomBytes(16), hash: try secureRandomBytes(32))
  }

  /// Whether a password has this hash. It blocks for a while.
  ///
  /// - Parameter most: so much it costs at least: the same for hashes with different costs.
  public func admits(_ password: String, costing most: Int? = nil) -> Bool {
    guard let other = try? Self.hash(password, logN, salt) else { return false }
    for logN in Self.padding(from: logN, to: most ?? logN) { _ = try? Self.hash(password, logN, salt) }
    return constantTimeEqual(hash, other)
  }

  /// The costs that make one cost as much as another: 2^n and 2^n are 2^(n+1), and so on.
  static func padding(from logN: Int, to most: Int) -> Range<Int> { logN..<max(logN, most) }

  private static func hash(_ password: String, _ logN: Int, _ salt: [UInt8]) throws(CryptoError) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    let bytes = Array(password.utf8)
    let blocks = UInt64(1) << UInt64(logN)
    let done = bytes.withUnsafeBytes { bytes in
      EVP_PBE_scrypt(
        bytes.bindMemory(to: CChar.self).baseAddress, bytes.count, salt, salt.count, blocks, blockSize, 1,
        256 * blocks * blockSize, &hash, hash.count)
    }
    guard done == 1 else { throw .taken(during: "hash a password with scrypt") }
    return hash
  }
}

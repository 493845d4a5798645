import Crypto
public import Formats

/// A token of a publisher's backend, known by its hash.
public struct PublisherToken: Sendable, Equatable {
  /// Names the token in the audit log and in refusals; unique within the publisher.
  @Exact public private(set) var name: String
  /// SHA-256 of the token.
  public let hash: [UInt8]
  /// The parts of the API that it may use.
  public let scopes: Set<TokenScope>

  /// Creates a token; the hash has `SHA256.size` bytes.
  public init(name: String, hash: [UInt8], scopes: Set<TokenScope>) {
    self.name = name
    self.hash = hash
    self.scopes = scopes
  }

  /// A token of `tokenHashes`, which has no name in the file, and every scope.
  ///
  /// Its name is the beginning of its hash. That tells nothing about the token, and finds the line of the file.
  public init(unnamed hash: [UInt8]) {
    self.init(name: "token-" + Hex.encode(hash[..<4]), hash: hash, scopes: Set(TokenScope.allCases))
  }

  /// The most characters of a name.
  public static let longestName = 64

  /// Whether a text can be a name: ASCII letters, digits, `.`, `_` and `-`. The ledger writes other characters beside
  /// a name.
  public static func isName(_ text: String) -> Bool { text.isASCIIName(1...longestName) }
}

public import Crypto

/// A key that checks customers' tokens, with the id that tokens call it by.
public struct CustomerTokenKey: Sendable {
  /// `kid` of the tokens (RFC 7515, section 4.1.4); `nil` for a key without one.
  public let id: KeyId?
  public let key: Key

  /// Creates a key.
  public init(id: KeyId? = nil, _ key: Key) {
    self.id = id
    self.key = key
  }

  /// A key with its only algorithm: a token's own `alg` never chooses how a key is used.
  public enum Key: Sendable {
    case hs256([UInt8])
    case rs256(RSAPublicKey)
    case es256(P256PublicKey)
    case eddsa(Ed25519PublicKey)

    /// The name of the algorithm.
    public var algorithm: SignatureAlgorithm {
      switch self {
      case .hs256: "HS256"
      case .rs256: "RS256"
      case .es256: "ES256"
      case .eddsa: "EdDSA"
      }
    }

    /// Whether a token may write this `alg` for the key. RFC 9864 gives EdDSA with this curve a name of its own.
    public func fits(_ algorithm: SignatureAlgorithm) -> Bool {
      if algorithm == self.algorithm { return true }
      if case .eddsa = self { return algorithm == "Ed25519" } else { return false }
    }

    /// Whether `signature` is this key's over a text.
    public func isValidSignature(_ signature: [UInt8], for text: [UInt8]) -> Bool {
      switch self {
      case .hs256(let secret): constantTimeEqual(HMACSHA256.authenticate(text, key: secret), signature)
      case .rs256(let key): key.isValidPKCS1SHA256Signature(signature, for: text)
      case .es256(let key): key.isValidSignature(signature, for: text)
      case .eddsa(let key): key.isValidSignature(signature, for: text)
      }
    }
  }
}

extension [CustomerTokenKey] {
  /// The one key that a token's header leads to; `nil` if none does, or more than one.
  ///
  /// A token with a `kid` leads to the key with this id. Where no key has it, a single key without an id serves the
  /// token. A token without a `kid` leads to the single key without an id, or else to the single key of all. Only keys
  /// of the token's algorithm count. So a token never costs more than one check of a signature, however many keys there
  /// are.
  public func key(id: KeyId?, algorithm: SignatureAlgorithm) -> CustomerTokenKey? {
    let fitting = filter { $0.key.fits(algorithm) }
    let unnamed = fitting.filter { $0.id == nil }
    guard let id else {
      let serving = unnamed.isEmpty ? fitting : unnamed
      return serving.count == 1 ? serving[0] : nil
    }
    if let named = fitting.first(where: { $0.id == id }) { return named }
    return unnamed.count == 1 && !has(id: id) ? unnamed[0] : nil
  }

  /// Whether a key has this id.
  public func has(id: KeyId) -> Bool { contains { $0.id == id } }
}

import Domain

/// Why the gateway believes nothing that a customer's token says.
///
/// Whoever sends the token may be a stranger. So a text repeats no part of the token, names no key, and does not say
/// whether a publisher exists that accepts no customers' tokens, unless its file has a mistake (decision 0008). The
/// gateway checks in the order of the cases, and only the last one checks a signature: a stranger learns from the time
/// of an answer no more than from its text.
enum CustomerTokenRefusal: Equatable {
  /// The header asks for extensions (`crit`), and the gateway knows none.
  case critical
  /// The token has neither of the claims that name its publisher.
  case unnamedPublisher
  /// There is no such publisher, or it accepts no customers' tokens.
  case unknownPublisher
  /// No key of the publisher has this `alg`.
  case algorithm(SignatureAlgorithm, accepted: [SignatureAlgorithm])
  /// The token has no `kid`, and several keys have its `alg`.
  case missingKeyId(algorithm: SignatureAlgorithm)
  /// No key of the publisher has the token's `kid` and its `alg`.
  case unknownKeyId
  case signature

  /// Judges a token of a publisher with these keys, of which none, or only `found`, may have signed it.
  init(algorithm: SignatureAlgorithm, keyId: KeyId?, keys: [CustomerTokenKey], found: CustomerTokenKey?) {
    guard found == nil else {
      self = .signature
      return
    }
    guard keys.contains(where: { $0.key.fits(algorithm) }) else {
      var accepted: [SignatureAlgorithm] = []
      for key in keys where !accepted.contains(key.key.algorithm) { accepted.append(key.key.algorithm) }
      self = .algorithm(algorithm, accepted: accepted)
      return
    }
    self = keyId == nil ? .missingKeyId(algorithm: algorithm) : .unknownKeyId
  }

  /// The names in the registry of JOSE's signatures (RFC 7518, RFC 8037, RFC 8812, RFC 9864).
  private static let knownAlgorithms: Set<SignatureAlgorithm> = [
    "none", "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512",
    "EdDSA", "Ed25519", "Ed448", "ES256K",
  ]

  /// What is wrong, and what to do.
  var detail: String {
    switch self {
    case .critical:
      "crit: the header of the customer's token has crit, and the server supports no extensions. Sign without crit."
    case .unnamedPublisher:
      "publisherId: the customer's token names no publisher. Add the claim publisherId, or iss and aud."
    case .unknownPublisher:
      "publisherId: the claim publisherId (or iss and aud) names no publisher that accepts customers' tokens, or several. "
        + "Compare it with the publisher's file, which needs customerTokens."
    case .algorithm(let algorithm, let accepted):
      "alg: the customer's token has \(Self.named(algorithm)); its publisher accepts "
        + (accepted.isEmpty
          ? "no token, because it has no key now." : "\(accepted.map(\.text).joined(separator: ", ")).")
    case .missingKeyId(let algorithm):
      "kid: the customer's token names no key, and its publisher has several keys for \(Self.named(algorithm)). Write the "
        + "kid of the key into the token's header."
    case .unknownKeyId:
      "kid: no key of the publisher has the kid and the alg of the customer's token. Compare them with customerTokens in "
        + "the publisher's file, or with its key set."
    case .signature:
      "signature: it does not fit the key that the customer's token leads to. Sign with the key that customerTokens in the "
        + "publisher's file names, and change nothing afterwards."
    }
  }

  private static func named(_ algorithm: SignatureAlgorithm) -> String {
    knownAlgorithms.contains(algorithm) ? "the algorithm \(algorithm)" : "an unknown algorithm"
  }

  /// The answer.
  var problem: Problem { .invalidCredential(detail) }
}

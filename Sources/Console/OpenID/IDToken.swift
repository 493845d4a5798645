import Crypto
import Domain
import Formats
import JSON

/// An id token as it came. Nobody believes its claims before ``verified(by:for:)``.
struct IDToken: Sendable {
  private let header: Header
  private let claims: OpenIDClaims
  private let signed: [UInt8]
  private let signature: [UInt8]

  /// A token with the groups of a person has some kilobytes.
  static let longest = 32 << 10
  /// The algorithms that count, all with a public key. `none` and those with a shared secret are not among them.
  static let algorithms: [SignatureAlgorithm] = ["RS256", "ES256", "EdDSA", "Ed25519"]
  /// How much the provider's clock may differ, in seconds.
  static let leeway: Int64 = 60
  /// A token is issued for the code that the browser has just brought, so an older one is somebody's copy.
  static let mostAge: Int64 = 600

  /// What this sign-in expects.
  struct Expected: Sendable {
    let issuer: String
    let clientId: String
    let nonce: String
    /// Those that the provider's description names. Others do not count.
    let algorithms: [SignatureAlgorithm]
    /// Seconds since 1970.
    let now: Int64
  }

  /// Why a token is not believed.
  enum Refusal: Error, Equatable, CustomStringConvertible {
    case malformed
    case algorithm
    /// No key of the provider has signed it.
    case signature
    /// A claim is missing or wrong.
    case claim(String)

    var description: String {
      switch self {
      case .malformed: "the id token is not a JWT of at most \(IDToken.longest) bytes"
      case .algorithm:
        "the id token's alg is not one of \(IDToken.algorithms.map(\.text).joined(separator: ", ")) that the provider names"
      case .signature: "no key of the provider has signed the id token"
      case .claim(let name): "the id token's \(name) is not what this sign-in expects"
      }
    }
  }

  /// The header of a JWS (RFC 7515). Other members about keys, such as `jwk` and `jku`, are ignored.
  private struct Header: Decodable, Sendable {
    let alg: SignatureAlgorithm
    let kid: KeyId?
    let crit: [String]?
  }

  /// Reads a token.
  init(_ text: String) throws(Refusal) {
    // The length comes first.
    let parts =
      text.utf8.count <= Self.longest
      ? text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Substring($0) } : []
    guard parts.count == 3, let header = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2]),
      let known = try? JSONText(header, limits: .tokenHeader).decoded(as: Header.self), known.crit == nil,
      case .object(let members)? = try? JSONText(claims, limits: .tokenClaims).decoded(as: JSONValue.self)
    else { throw .malformed }
    (self.header, self.claims, self.signature) = (known, OpenIDClaims(members: members), signature)
    signed = Array("\(parts[0]).\(parts[1])".utf8)
  }

  /// Whether one of the keys may have signed it. If not, the provider may have a newer one.
  func hasKey(among keys: [CustomerTokenKey]) -> Bool { key(among: keys) != nil }

  private func key(among keys: [CustomerTokenKey]) -> CustomerTokenKey? {
    keys.key(id: header.kid, algorithm: header.alg)
  }

  /// Returns the claims if one of the keys has signed them, and if they are what a sign-in expects (OpenID Connect
  /// Core, section 3.1.3.7).
  func verified(by keys: [CustomerTokenKey], for expected: Expected) throws(Refusal) -> OpenIDClaims {
    guard Self.algorithms.contains(header.alg), expected.algorithms.contains(header.alg) else { throw .algorithm }
    guard let key = key(among: keys), key.key.isValidSignature(signature, for: signed) else { throw .signature }
    try check(expected)
    return claims
  }

  private func check(_ expected: Expected) throws(Refusal) {
    func require(_ isRight: Bool, _ name: String) throws(Refusal) { if !isRight { throw .claim(name) } }
    try require(claims.text("iss").isExactly(expected.issuer), "iss")
    let audiences = claims.texts("aud") ?? []
    try require(audiences.containsExactly(expected.clientId), "aud")
    // With others beside us, it must say that it was made for us.
    let party = claims.members["azp"]
    let isOurs = claims.text("azp").isExactly(expected.clientId)
    try require(party == nil ? audiences.count == 1 : isOurs, "azp")
    let (earliest, latest) = (expected.now - Self.leeway, expected.now + Self.leeway)
    try require(claims.seconds("exp").map { $0 > earliest } ?? false, "exp")
    let issued = claims.seconds("iat")
    try require(issued.map { $0 <= latest && $0 > earliest - Self.mostAge } ?? false, "iat")
    try require(claims.members["nbf"] == nil || (claims.seconds("nbf") ?? .max) <= latest, "nbf")
    try require(claims.text("nonce").isExactly(expected.nonce), "nonce")
    try require((1...255).contains(claims.text("sub")?.utf8.count ?? 0), "sub")
  }
}

extension JSONLimits {
  /// A JOSE header: a few texts. Its lists, such as `x5c`, are not looked at.
  fileprivate static let tokenHeader = JSONLimits(depth: 4, members: 32, elements: 16, values: 128, nameBytes: 256)
  /// A person's claims, with the groups.
  fileprivate static let tokenClaims = JSONLimits(depth: 8, members: 128, elements: 1024, values: 2048, nameBytes: 256)
}

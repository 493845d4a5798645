import Crypto
import Domain
import FoundationEssentials

/// The tokens that prove an app to the API. A token is made once and used until half of its life is over.
struct BearerTokens {
  /// Apple allows up to an hour. A third of it is far from any limit and still costs only one signature per ten
  /// minutes.
  static let lifetimeSeconds: Int64 = 20 * 60

  private struct Key: Hashable {
    let bundleId: BundleId
    let issuerId: IssuerId
    let keyId: KeyId
  }

  private struct Header: Encodable {
    let alg = "ES256"
    let kid: KeyId
    let typ = "JWT"
  }

  private struct Claims: Encodable {
    let iss: IssuerId
    let iat: Int64
    let exp: Int64
    let aud = "appstoreconnect-v1"
    let bid: BundleId
  }

  private struct Token {
    let authorization: String
    let issuedAt: Int64
    /// The key that signed the token. If the operator exchanges the key under the same id, the old key's tokens must
    /// end.
    let signer: P256PrivateKey
  }

  private var tokens: [Key: Token] = [:]

  /// Returns the value of the field `Authorization`, with a token that is valid for at least another ten minutes.
  ///
  /// `now` is in milliseconds since 1970.
  mutating func authorization(for app: AppCredentials, now: Int64) throws -> String {
    let key = Key(bundleId: app.bundleId, issuerId: app.issuerId, keyId: app.keyId)
    let seconds = now / 1000
    // A clock that was set back also makes a new token: Apple refuses a token from the future.
    if let token = tokens[key], token.signer === app.key,
      (0..<Self.lifetimeSeconds / 2).contains(seconds - token.issuedAt)
    {
      return token.authorization
    }
    let authorization = "Bearer " + (try Self.makeToken(for: app, at: seconds))
    tokens[key] = Token(authorization: authorization, issuedAt: seconds, signer: app.key)
    return authorization
  }

  private static func makeToken(for app: AppCredentials, at seconds: Int64) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let header = try encoder.encode(Header(kid: app.keyId))
    let claims = try encoder.encode(
      Claims(iss: app.issuerId, iat: seconds, exp: seconds + lifetimeSeconds, bid: app.bundleId))
    let signed = Base64URL.encode(Array(header)) + "." + Base64URL.encode(Array(claims))
    return signed + "." + Base64URL.encode(try app.key.signature(for: Array(signed.utf8)))
  }
}

import Configuration
import Domain
import Formats
import JSON

/// What the provider says about itself (OpenID Connect Discovery, section 3), as far as a sign-in needs it.
struct ProviderDescription: Sendable, Equatable {
  let authorizationURL: String
  let tokenURL: String
  let keySetURL: String
  /// How the console shows its secret.
  let secretIn: SecretPlace
  /// How the provider signs id tokens.
  let algorithms: [SignatureAlgorithm]
  /// Whether each answer names the provider (RFC 9207).
  let namesItself: Bool

  enum SecretPlace: Sendable, Equatable { case header, form }

  static let mostBytes = 64 << 10

  /// Why a description is of no use.
  struct Unusable: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  /// Where the description of an issuer is.
  static func url(of issuer: String) -> String {
    (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
  }

  /// Reads a description.
  ///
  /// - Parameter issuer: the only one whose description it may be.
  init(_ bytes: [UInt8], of issuer: String) throws(Unusable) {
    guard let value = try? JSONText(bytes, limits: .answers).decoded(as: JSONValue.self),
      case .object(let members) = value
    else { throw Unusable("it is not a JSON object") }
    let claims = OpenIDClaims(members: members)
    guard claims.text("issuer").isExactly(issuer) else {
      throw Unusable("its issuer is not exactly \(issuer)")
    }
    func url(_ name: String) throws(Unusable) -> String {
      // What the issuer protects with TLS stays so.
      guard let url = claims.text(name), OpenIDSettings.isUsable(url),
        url.hasPrefix("https:") || issuer.hasPrefix("http:")
      else { throw Unusable("its \(name) is not an https:// URL") }
      return url
    }
    authorizationURL = try url("authorization_endpoint")
    tokenURL = try url("token_endpoint")
    keySetURL = try url("jwks_uri")
    func list(_ name: String, otherwise: [String]) throws(Unusable) -> [String] {
      guard members[name] != nil else { return otherwise }
      guard let texts = claims.texts(name) else { throw Unusable("its \(name) is not a list of texts") }
      return texts
    }
    // A provider that says nothing about it takes the header.
    let ways = try list("token_endpoint_auth_methods_supported", otherwise: ["client_secret_basic"])
    secretIn = ways.contains("client_secret_basic") || !ways.contains("client_secret_post") ? .header : .form
    algorithms = try list("id_token_signing_alg_values_supported", otherwise: ["RS256"]).map(
      SignatureAlgorithm.init(_:))
    guard algorithms.contains(where: IDToken.algorithms.contains) else {
      throw Unusable("it signs id tokens with none of \(IDToken.algorithms.map(\.text).joined(separator: ", "))")
    }
    // Some providers take S256 without saying so.
    guard try list("code_challenge_methods_supported", otherwise: ["S256"]).contains("S256") else {
      throw Unusable("it does not take PKCE with S256")
    }
    namesItself = claims.isTrue("authorization_response_iss_parameter_supported")
  }

  /// Where a browser goes to sign in.
  func address(for attempt: OpenIDAttempt, _ settings: OpenIDSettings) -> String {
    let fields = [
      ("response_type", "code"), ("client_id", settings.clientId), ("redirect_uri", settings.returnURL),
      ("scope", settings.scopes.joined(separator: " ")), ("state", attempt.state), ("nonce", attempt.nonce),
      ("code_challenge", attempt.challenge), ("code_challenge_method", "S256"),
    ]
    return authorizationURL + (authorizationURL.contains("?") ? "&" : "?") + FormText.of(fields)
  }
}

/// The fields of a form or a query, percent-encoded.
enum FormText {
  static func of(_ fields: [(String, String)]) -> String {
    fields.map { "\(PercentCoding.encoded($0))=\(PercentCoding.encoded($1))" }.joined(separator: "&")
  }
}

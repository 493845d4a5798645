import Crypto
import Domain
import Formats
import JSON
import Transport

/// How the publisher's customers' tokens are signed, and what they must say.
///
/// Every file that it names is read here, so that another reading of the publisher's file takes the changes of all.
extension PublisherReader {
  private enum Algorithm: String, CaseIterable {
    case none
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
  }

  /// The policy; `nil` if the publisher has no key for such tokens, or after mistakes.
  func customerTokens(_ readers: [SettingsReader]) -> Publisher.CustomerTokenPolicy? {
    let algorithm = reader.choice(
      "customerTokens.algorithm", Algorithm.none,
      "The `alg` of a single key without a `kid`; `customerTokens.keys` has several.")
    let claim = reader.string("customerTokens.customerClaim", "customerId", "The claim that names the customer.")
    let single = key(algorithm, reader, "customerTokens.", file: "RS256, ES256 or EdDSA")
    let audiences = audiences()
    let issuer = reader.optionalString(
      "customerTokens.issuer",
      "The only `iss` that is accepted. A token without `publisherId` finds its publisher by `iss` and `aud`.",
      shown: "any")
    let lifetime = reader.int(
      "customerTokens.maxLifetimeSeconds", 0, 0...315_360_000,
      "Longest time from `iat` to `exp` of a token. With a limit, a token without `iat` is refused. 0: no limit.")
    let leeway = reader.int(
      "customerTokens.clockLeewaySeconds", Publisher.CustomerTokenPolicy.defaultLeeway, 0...300,
      "How much the clock of the tokens' issuer may differ.")
    let (set, address) = keySet()
    if set != nil || address != nil {
      // The same keys sign tokens for others, too.
      let reason = "since the keys of customerTokens.jwks may sign tokens for others"
      if issuer == nil { reader.note("customerTokens.issuer", "is missing, expected the tokens' iss, \(reason)") }
      if audiences.isEmpty { reader.note("customerTokens.audience", "is missing, expected the tokens' aud, \(reason)") }
    }
    let keys = readers.compactMap(namedKey)
    for (name, all) in Dictionary(grouping: keys, by: { ExactText("\($0.id ?? "") \($0.key.algorithm)") })
    where all.count > 1 {
      reader.note("customerTokens.keys", "two keys have the kid and the algorithm \"\(name)\"")
    }
    let all = single.map { [CustomerTokenKey($0)] } ?? []
    guard !(all.isEmpty && keys.isEmpty && set == nil && address == nil) else { return nil }
    return Publisher.CustomerTokenPolicy(
      keys: all + keys + (set?.keys ?? []), keySet: address, customerClaim: claim,
      issuer: issuer.map(TokenIssuer.init(_:)),
      audiences: audiences.map(TokenAudience.init(_:)), maxLifetime: lifetime == 0 ? nil : lifetime, leeway: leeway)
  }

  // MARK: Keys of the file

  private func namedKey(_ reader: SettingsReader) -> CustomerTokenKey? {
    let id = reader.string("kid", nil, "The `kid` of the tokens that the key has signed.")
    let name = reader.string("algorithm", nil, "The only `alg` of the key: `HS256`, `RS256`, `ES256` or `EdDSA`.")
    let algorithm = Algorithm(rawValue: name) ?? .none
    if algorithm == .none, !name.isEmpty {
      reader.note("algorithm", "is \"\(name)\", expected one of HS256, RS256, ES256, EdDSA")
    }
    guard let key = key(algorithm, reader, "", file: "RS256, ES256 or EdDSA"), !id.isEmpty else { return nil }
    return CustomerTokenKey(id: KeyId(id), key)
  }

  /// The key of the files that the members beside `algorithm` name.
  ///
  /// - Parameter prefix: stands before the members' names.
  private func key(
    _ algorithm: Algorithm, _ reader: SettingsReader, _ prefix: String, file algorithms: String
  ) -> CustomerTokenKey.Key? {
    let secret = reader.secret(
      prefix + "secretFile", isRequired: algorithm == .hs256, "File with the HS256 secret, at least 32 bytes.")
    let text = reader.secret(
      prefix + "publicKeyFile", isRequired: ![.none, .hs256].contains(algorithm),
      "File with the \(algorithms) public key, as PEM or as a JSON Web Key.")
    if algorithm == .hs256 {
      guard let secret else { return nil }
      // RFC 7518, section 3.2: a key must have at least the size of the hash.
      if secret.utf8.count < 32 { reader.note(prefix + "secretFile", "expected at least 32 bytes") }
      return .hs256(Array(secret.utf8))
    }
    guard algorithm != .none, let text else { return nil }
    do {
      let key = try Self.publicKey(text, algorithm)
      if key.algorithm.text != algorithm.rawValue { throw UnusableFile("it is a key for \(key.algorithm)") }
      return key
    } catch {
      let crypto = error as? CryptoError
      let cause = crypto.map { $0.isOfOpenSSL ? Self.defect(of: text) : $0.cause } ?? "\(error)"
      reader.note(prefix + "publicKeyFile", "expected a public key for \(algorithm.rawValue): \(cause)")
      return nil
    }
  }

  private struct UnusableFile: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  /// What a file has in place of a public key, without a word of its content, and without OpenSSL's numbers.
  private static func defect(of text: String) -> String {
    if text.contains("PRIVATE KEY-----") { return "it holds a private key" }
    if text.contains("-----BEGIN CERTIFICATE") { return "it holds a certificate" }
    guard text.contains("-----BEGIN PUBLIC KEY-----") else { return "it holds no public key in PEM" }
    return text.contains("-----END PUBLIC KEY-----")
      ? "it holds another kind of key, or is damaged" : "it ends too early"
  }

  private static func publicKey(_ text: String, _ algorithm: Algorithm) throws -> CustomerTokenKey.Key {
    if text.first(where: { !$0.isWhitespace }) == "{" {
      let bytes = Array(text.utf8)
      let value: JSONValue
      do {
        value = try JSONText(bytes, limits: .own).decoded()
      } catch let error as JSONSyntaxError where error.repeatedMember == nil {
        throw UnusableFile("it is not JSON: \(JSONMistake(error, in: bytes, isSecret: true))")
      }
      guard case .object(let members) = value else { throw UnusableFile("it is \(value.shape), no JSON object") }
      return try CustomerTokenKey(jwk: members).key
    }
    switch algorithm {
    case .rs256: return .rs256(try RSAPublicKey(pem: text))
    case .es256: return .es256(try P256PublicKey(pem: text))
    case .edDSA: return .eddsa(try Ed25519PublicKey(pem: text))
    case .none, .hs256: throw UnusableFile("the algorithm has none")
    }
  }

  // MARK: Key sets

  /// The set of a file, or the address of one.
  private func keySet() -> (JSONWebKeySet?, KeySetAddress?) {
    let text = reader.secret(
      "customerTokens.jwks.file", isRequired: false, "File with a set of JSON Web Keys (RFC 7517), instead of `url`.")
    let url = reader.optionalString(
      "customerTokens.jwks.url",
      "URL of a set of JSON Web Keys, which gateways fetch. `https://`; private addresses are allowed, because you "
        + "write this file.", isSecret: true)
    let authorities = reader.optionalPath(
      "customerTokens.jwks.caFile", "PEM file of certificate authorities for `url`, instead of the system's.")
    if text != nil, url != nil { reader.note("customerTokens.jwks.url", "is set beside file, expected one of them") }
    if let authorities { reader.noteAuthorities("customerTokens.jwks.caFile", authorities) }
    if let url, let defect = Self.defect(ofKeySetURL: url, addresses) {
      reader.note("customerTokens.jwks.url", defect)
    }
    return (text.flatMap(keySet), url.map { KeySetAddress(url: $0, caFile: authorities) })
  }

  private func keySet(_ text: String) -> JSONWebKeySet? {
    do throws(JSONWebKeySet.Unusable) {
      return try JSONWebKeySet(Array(text.utf8))
    } catch {
      reader.note("customerTokens.jwks.file", "expected a set of JSON Web Keys: \(error.description)")
      return nil
    }
  }

  /// What is wrong with a URL. The rule is that of webhooks, but the operator has written it, not a publisher. So it
  /// may lead into the operator's own network.
  private static func defect(ofKeySetURL url: String, _ webhooks: WebhookAddress) -> String? {
    let everywhere = AddressPolicy(allowing: ["0.0.0.0/0", "::/0"].compactMap { AddressBlock($0) })
    let defect = WebhookAddress(allowsHTTP: webhooks.allowsHTTP, policy: everywhere).defect(of: url)
    return defect.map { $0.hasPrefix("has a user name") ? "has a user name or password; a set of keys is public" : $0 }
  }

  private func audiences() -> [String] {
    let form = Form<[String]>(
      expected: "a string or a list of strings",
      json: { value in
        guard case .array(let elements) = value else { return value.string.map { [$0] } }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count ? texts : nil
      }, text: { _ in nil })
    return reader.read(
      "customerTokens.audience", [], "any",
      "Accepted audiences: a token's `aud` must contain one of these texts.", form) ?? []
  }
}

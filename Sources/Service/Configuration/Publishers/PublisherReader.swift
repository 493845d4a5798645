import Crypto
import Domain
import FoundationEssentials
import JSON

/// Reads one publisher's file.
struct PublisherReader {
  let reader: SettingsReader
  /// The URLs that endpoints may have.
  let addresses: WebhookAddress

  private enum Algorithm: String, CaseIterable {
    case none
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
  }

  /// The publisher, or `nil` after mistakes.
  func publisher(apps: [SettingsReader], offers: [SettingsReader], webhooks: [SettingsReader]) -> Publisher {
    let id = reader.int(
      "publisherId", nil, 1...999_999_999_999, "The publisher's number, `broadcasterId` on the wire.")
    let customers = reader.choice(
      "customers", Publisher.CustomerPolicy.registered,
      "`registered`: a customer must be put before a purchase can name it; `open`: any customer id is taken.")
    let tokenHashes = hashes("tokenHashes", of: "token", "SHA-256 of each accepted publisher token, in hexadecimal.")
    let customerTokens = customerTokens()
    let sandboxAccess = sandboxAccess()
    let ownership = ownership()
    return Publisher(
      id: id, customers: customers, tokenHashes: tokenHashes, customerTokens: customerTokens,
      apps: apps.compactMap(app), offers: OfferCatalog(offers.map(offer)), sandboxAccess: sandboxAccess,
      ownership: ownership, isMigrating: isMigrating(), doors: doors(ownership, customerTokens),
      grantWhileAppleIsAway: grantWhileAppleIsAway(),
      notifications: notifications(), webhooks: webhooks.map(webhook))
  }

  /// Reads a list of hashes. The file never holds the secrets themselves.
  func hashes(_ key: String, of secret: String, _ meaning: String) -> [[UInt8]] {
    reader.strings(key, [], meaning, isSecret: true).enumerated().compactMap { index, text in
      hash(text, "\(key)[\(index)]", of: secret)
    }
  }

  func hash(_ text: String, _ key: String, of secret: String) -> [UInt8]? {
    guard let hash = Hex.decode(text), hash.count == SHA256.size else {
      // The mistake does not show the text: it may well be the secret.
      reader.note(key, "expected 64 hexadecimal digits, the SHA-256 of a \(secret) and not the \(secret)")
      return nil
    }
    return hash
  }

  private func customerTokens() -> Publisher.CustomerTokenPolicy? {
    let algorithm = reader.choice(
      "customerTokens.algorithm", Algorithm.none, "The only `alg` accepted in a customer's bearer token.")
    let claim = reader.string("customerTokens.customerClaim", "customerId", "The claim that names the customer.")
    let secret = reader.secret(
      "customerTokens.secretFile", isRequired: algorithm == .hs256, "File with the HS256 secret, at least 32 bytes.")
    let pem = reader.secret(
      "customerTokens.publicKeyFile", isRequired: algorithm == .rs256 || algorithm == .es256,
      "PEM file with the RS256 or ES256 public key.")
    do {
      switch algorithm {
      case .none: return nil
      case .hs256:
        guard let secret else { return nil }
        // RFC 7518, section 3.2: a key must have at least the size of the hash.
        if secret.utf8.count < 32 { reader.note("customerTokens.secretFile", "expected at least 32 bytes") }
        return .init(key: .hs256(Array(secret.utf8)), customerClaim: claim)
      case .rs256:
        guard let pem else { return nil }
        return .init(key: .rs256(try RSAPublicKey(pem: pem)), customerClaim: claim)
      case .es256:
        guard let pem else { return nil }
        return .init(key: .es256(try P256PublicKey(pem: pem)), customerClaim: claim)
      }
    } catch {
      reader.note("customerTokens.publicKeyFile", "expected a public key for \(algorithm.rawValue): \(error)")
      return nil
    }
  }

  private func sandboxAccess() -> SandboxAccess {
    // No environment variable overrides a key of a publisher's file, so the form needs no text.
    let form = Form<SandboxAccess>(
      expected: "nobody, everybody or a list of customers, each a text or a whole number from 1",
      json: Self.sandboxAccess,
      text: { _ in nil })
    let access = reader.read(
      "sandboxAccess", SandboxAccess.nobody, "`nobody`",
      "Which customers get access for purchases from Apple's sandbox, where App Review and TestFlight buy: `nobody`, "
        + "`everybody` or a list of customers.", form)
    return access ?? .nobody
  }

  private static func sandboxAccess(_ value: JSONValue) -> SandboxAccess? {
    switch value {
    case .string("nobody"): return .nobody
    case .string("everybody"): return .everybody
    case .array(let elements):
      var ids: [String] = []
      for element in elements {
        switch element {
        case .string(let id) where CustomerId.isValid(id): ids.append(id)
        case .integer(let number):
          guard let id = CustomerId.text(number) else { return nil }
          ids.append(id)
        default: return nil
        }
      }
      return .customers(ids)
    default: return nil
    }
  }

  private func app(_ reader: SettingsReader) -> Publisher.App? {
    let environments = reader.strings(
      "environments", ["Production", "Sandbox"],
      "The environments whose purchases are accepted; production is asked first.")
    if environments.isEmpty { reader.note("environments", "is empty, expected Production, Sandbox or both") }
    for name in environments where !["Production", "Sandbox"].contains(name) {
      reader.note("environments", "has \"\(name)\", expected Production or Sandbox")
    }
    let isReleased = reader.bool(
      "released", true,
      "`false`: production's 401 means that it does not know the app yet, and the sandbox is asked.")
    let before = reader.mistakes.count
    let appAppleId = reader.int(
      "appAppleId", 0, 0...999_999_999_999_999, "The app's Apple id; required for production.")
    // After a mistake the value is 0, too.
    if appAppleId == 0, environments.contains("Production"), reader.mistakes.count == before {
      reader.note("appAppleId", "is missing, expected the app's Apple id, since environments has Production")
    }
    var key: P256PrivateKey?
    if let pem = reader.secret(
      "privateKeyFile", isRequired: true, "File with the In-App Purchase key, as downloaded from App Store Connect.")
    {
      do {
        key = try P256PrivateKey(pem: pem)
      } catch {
        reader.note("privateKeyFile", "expected a PKCS#8 P-256 private key in PEM: \(error)")
      }
    }
    let bundleId = reader.string("bundleId", nil, "The app's bundle id.")
    let issuerId = reader.string("issuerId", nil, "The issuer id of the In-App Purchase key.")
    let keyId = reader.string("keyId", nil, "The id of the In-App Purchase key.")
    guard let key else { return nil }  // noted above
    return Publisher.App(
      bundleId: bundleId, appAppleId: appAppleId == 0 ? nil : appAppleId, issuerId: issuerId, keyId: keyId,
      privateKey: key, environments: environments, isReleased: isReleased)
  }

  private func webhook(_ reader: SettingsReader) -> Publisher.WebhookEndpoint {
    let url = reader.string("url", nil, "Address that events are posted to.", isSecret: true)
    if !url.isEmpty, let defect = addresses.defect(of: url) { reader.note("url", defect) }
    var secret: [UInt8] = []
    if let text = reader.secret(
      "secretFile", isRequired: true,
      "File with the Standard Webhooks secret: `whsec_` and the base64 of 24 to 64 bytes.")
    {
      secret = text.hasPrefix("whsec_") ? Base64.decode(String(text.dropFirst(6))) ?? [] : []
      if !(24...64).contains(secret.count) {
        reader.note("secretFile", "expected whsec_ and the base64 of 24 to 64 bytes")
      }
    }
    let id = reader.string("id", nil, "Name of the endpoint, unique for the publisher.")
    let topics = reader.strings("topics", [EventTopic.synchronizationResult], "Topics that are delivered.")
    if topics.isEmpty || Set(topics).count < topics.count || !Set(topics).isSubset(of: EventTopic.all) {
      reader.note("topics", EventTopic.expectation)
    }
    let environment = reader.optionalString(
      "environment", "The only environment whose purchases it hears about: `Production` or `Sandbox`.", shown: "both")
    if let environment, WebhookEnvironment(rawValue: environment) == nil {
      reader.note("environment", "is \"\(environment)\", expected one of Production, Sandbox")
    }
    return Publisher.WebhookEndpoint(
      id: id, url: url, secret: secret, topics: topics,
      environment: environment.flatMap(WebhookEnvironment.init(rawValue:)))
  }
}

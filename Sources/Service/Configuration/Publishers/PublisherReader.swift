import Crypto
import Domain
import FoundationEssentials
import JSON

/// Reads one publisher's file.
struct PublisherReader {
  let reader: SettingsReader
  /// The URLs that endpoints may have.
  let addresses: WebhookAddress
  /// The doors of this build.
  let doors: [any ConfiguredDoor]

  /// The readers of the objects in the file's lists.
  struct Elements {
    var apps: [SettingsReader] = []
    var offers: [SettingsReader] = []
    var webhooks: [SettingsReader] = []
    var tokens: [SettingsReader] = []
    var customerKeys: [SettingsReader] = []

    var all: [SettingsReader] { apps + offers + webhooks + tokens + customerKeys }

    /// The lists, each with its key in the file.
    static let lists: [(key: String, list: any WritableKeyPath<Elements, [SettingsReader]> & Sendable)] = [
      ("apps", \.apps), ("offers", \.offers), ("webhooks", \.webhooks), ("tokens", \.tokens),
      ("customerTokens.keys", \.customerKeys),
    ]
  }

  /// The publisher, or what is left of it after mistakes.
  func publisher(_ elements: Elements) -> Publisher {
    let id = reader.int(
      "publisherId", nil, 1...999_999_999_999, "The publisher's number, `broadcasterId` on the wire.")
    let customers = reader.choice(
      "customers", Publisher.CustomerPolicy.registered,
      "`registered`: a backend must put a customer before a purchase can name it; `open`: any customer id is accepted.")
    let tokenHashes = hashes(
      "tokenHashes", of: "token",
      "SHA-256 of each publisher token without a name, in hexadecimal. Such a token has every scope; `tokens` has those "
        + "with names.")
    let tokens = tokens(elements.tokens, beside: tokenHashes)
    let customerTokens = customerTokens(elements.customerKeys)
    let sandboxAccess = sandboxAccess()
    let ownership = ownership()
    return Publisher(
      id: PublisherId(id), customers: customers, tokenHashes: tokenHashes, tokens: tokens,
      customerTokens: customerTokens, apps: elements.apps.compactMap(app),
      offers: OfferCatalog(elements.offers.map(offer)), sandboxAccess: sandboxAccess,
      ownership: ownership, isMigrating: isMigrating(), mode: mode(),
      doors: doors(ownership, customers, customerTokens), grantWhileAppleIsAway: grantWhileAppleIsAway(),
      notifications: notifications(), webhooks: elements.webhooks.map(webhook))
  }

  /// Reads a list of hashes. The file never holds the secrets themselves.
  func hashes(_ key: String, of secret: String, _ meaning: String) -> [[UInt8]] {
    reader.strings(key, [], meaning, isSecret: true).enumerated().compactMap { index, text in
      hash(text, "\(key)[\(index)]", of: secret)
    }
  }

  /// - Parameter holder: the reader of the key; without it, that of the whole file.
  func hash(_ text: String, _ key: String, of secret: String, _ holder: SettingsReader? = nil) -> [UInt8]? {
    guard let hash = Hex.decode(text), hash.count == SHA256.size else {
      // The mistake does not show the text: it may well be the secret.
      (holder ?? reader).note(key, "expected 64 hexadecimal digits, the SHA-256 of a \(secret) and not the \(secret)")
      return nil
    }
    return hash
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
      var ids: [CustomerId] = []
      for element in elements {
        switch element {
        case .string(let text) where CustomerId(text).isValid: ids.append(CustomerId(text))
        case .integer(let number):
          guard let id = CustomerId(number: number) else { return nil }
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
      "`false`: a 401 from production means that Apple does not know the app yet, and workers ask the sandbox.")
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
        reader.note("privateKeyFile", UnusableAppKey(pem: pem).description)
      }
    }
    let bundleId = reader.string("bundleId", nil, "The app's bundle id.")
    if !bundleId.isEmpty, !Self.isBundleId(bundleId) {
      reader.note("bundleId", "is \"\(bundleId)\", expected 1 to 155 letters, digits, hyphens and periods")
    }
    let issuerId = reader.string("issuerId", nil, "The issuer id of the In-App Purchase key.")
    let keyId = reader.string("keyId", nil, "The id of the In-App Purchase key.")
    guard let key else { return nil }  // noted above
    return Publisher.App(
      bundleId: BundleId(bundleId), appAppleId: appAppleId == 0 ? nil : appAppleId,
      issuerId: IssuerId(issuerId), keyId: KeyId(keyId), privateKey: key,
      environments: environments.map(Environment.init(_:)), isReleased: isReleased)
  }

  /// Whether Apple gives out such bundle ids (App Store Connect, *Add an app*).
  ///
  /// It matters to others, too: the names of budgets and lines in Redis have the id, and `pause:com.example.tv` would
  /// be somebody else's. The ledger's texts hold no control character.
  private static func isBundleId(_ text: String) -> Bool {
    (1...155).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
          true
        default: false
        }
      }
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
    let known = DoorCatalog(doors)
    let topics = reader.strings("topics", [EventTopic.synchronizationResult.text], "Topics that are delivered.")
      .map(EventTopic.init(_:))
    if topics.isEmpty || Set(topics).count < topics.count || !Set(topics).isSubset(of: known.topics) {
      let stranger = topics.first { !known.topics.contains($0) }
      let question = stranger.map { NearestName.question($0.text, among: known.topics.sorted().map(\.text)) } ?? ""
      reader.note("topics", (stranger.map { "has \"\($0)\", " } ?? "") + known.topicsExpectation + question)
    }
    let environment = reader.optionalString(
      "environment",
      "The only environment whose purchases it gets events about: `Production` or `Sandbox`.", shown: "both")
    if let environment, WebhookEnvironment(rawValue: environment) == nil {
      reader.note("environment", "is \"\(environment)\", expected one of Production, Sandbox")
    }
    return Publisher.WebhookEndpoint(
      id: EndpointId(id), url: url, secret: secret, topics: topics,
      environment: environment.flatMap(WebhookEnvironment.init(rawValue:)))
  }
}

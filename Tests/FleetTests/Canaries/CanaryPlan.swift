import Crypto
import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Simulator

/// A canary for every secret setting, and the files that hold them.
struct CanaryPlan {
  static let publisher: PublisherId = 1004

  /// The canary of each setting, as docs/reference/configuration.md names it. The name of a part of a publisher's file
  /// stands before its keys.
  let planted: [String: Canary]
  /// Secrets that come over HTTP: those of webhook endpoints.
  let sent: [String: Canary]
  /// A token that no publisher has.
  let invalidToken: Canary
  /// The private key of a TLS certificate.
  private let tlsKey: IssuingKey
  /// The key of the publisher's app, in PEM. The simulator does not know it, and answers 401.
  private let appKey: String

  init() throws {
    var planted: [String: Canary] = [:]
    for name in [
      "rabbitmq.url", "rabbitmq.passwordFile", "redis.url", "redis.passwordFile", "ledger.url", "ledger.passwordFile",
      "appStore.productionURL", "appStore.sandboxURL", "simulator.notifications.passwordFile",
      "customerTokens.secretFile", "notifications.sharedSecretHashes", "redis.sentinelPasswordFile",
      "customerTokens.keys.secretFile", "customerTokens.keys.publicKeyFile", "customerTokens.jwks.file", "tokens.name",
      "traces.authorizationFile", "console.openId.clientSecretFile",
    ] { planted[name] = try Canary.text(name) }
    for name in [
      "tokenHashes", "doors.iaptic.apiKeyHashes", "doors.iaptic.secretKeyHashes", "doors.mbaasy.clientTokens",
      "notifications.forwardTo", "webhooks.url", "customerTokens.jwks.url", "tokens.tokenHash", "tokens.tokenFile",
    ] { planted[name] = try Canary.token(name) }
    for name in ["ledger.keysFile", "webhooks.secretFile"] { planted[name] = Canary(name, try secureRandomBytes(32)) }
    tlsKey = try IssuingKey.generate(.p256)
    let pem = tlsKey.pem.split(separator: "\n")[1]
    for name in ["rabbitmq.privateKeyFile", "redis.privateKeyFile"] { planted[name] = Canary(name, text: String(pem)) }
    // The second line of a key in PKCS #8 begins within the secret number.
    let app = try IssuingKey.generate(.p256).pem
    planted["apps.privateKeyFile"] = Canary("apps.privateKeyFile", text: String(app.split(separator: "\n")[1]))
    appKey = app
    // A public key is no secret. This text stands where a key is expected.
    planted["customerTokens.publicKeyFile"] = try Canary.text("customerTokens.publicKeyFile")
    self.planted = planted
    var sent: [String: Canary] = [:]
    for name in ["whsec", "rotated", "whsk"] { sent[name] = Canary("a secret \(name)", try secureRandomBytes(32)) }
    for name in ["fovea", "mbaasy", "malformed", "subscription"] {
      sent[name] = try Canary.token("a secret of \(name)")
    }
    self.sent = sent
    invalidToken = try Canary.token("a wrong token")
  }

  var canaries: [Canary] { Array(planted.values) + Array(sent.values) + [invalidToken] }

  func text(_ name: String) -> String { planted[name]?.text ?? "" }

  /// The variables of the roles that work: they log everything.
  var environment: [String: String] {
    [
      "COUNTERSIGN_LEDGER_KEYS_FILE": "canary-keys.json", "COUNTERSIGN_LOG_LEVEL": "debug",
      // Nobody listens there: each batch of spans fails, and a line says so.
      "COUNTERSIGN_TRACES_URL": "http://127.0.0.1:1/v1/traces", "COUNTERSIGN_TRACES_RATIO": "1",
      "COUNTERSIGN_TRACES_AUTHORIZATION_FILE": "traces.authorizationFile.txt",
    ]
  }

  @LoopActor
  func write(to fleet: RunningFleet, receiver: WebhookReceiver) throws {
    func write(_ name: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(filePath: "\(fleet.folder)/\(name)"))
    }
    try write("canary-keys.json", keys(planted["ledger.keysFile"]!.bytes))
    // One byte too short, and the file of the wrong key.
    try write("broken-keys.json", keys(Array(planted["ledger.keysFile"]!.bytes.dropLast())))
    let files = ["passwordfile", "authorizationfile"]
    for name in planted.keys where files.contains(where: name.lowercased().hasSuffix) {
      try write(name + ".txt", text(name) + "\n")
    }
    for name in ["customerTokens.keys.secretFile", "customerTokens.keys.publicKeyFile", "tokens.tokenFile"] {
      try write(name + ".txt", text(name) + "\n")
    }
    try write("jwks.txt", text("customerTokens.jwks.file"))
    try write("customer-token.txt", text("customerTokens.secretFile") + "\n")
    try write("public-key.txt", text("customerTokens.publicKeyFile") + "\n")
    try write("webhook.txt", "whsec_" + Base64.encode(planted["webhooks.secretFile"]!.bytes))
    try write("broken-webhook.txt", Base64.encode(planted["webhooks.secretFile"]!.bytes))
    try write("app.p8", appKey)
    try write("broken-app.p8", "-----BEGIN PRIVATE KEY-----\n\(text("apps.privateKeyFile"))\n")
    let profile = CertificateProfile(commonName: "canary", use: .tlsServer(names: ["canary"]))
    let authority = try CertificateAuthority.root(commonName: "canary", curve: .p256)
    try write("tls.pem", try authority.issue(profile, for: tlsKey).pem)
    try write("tls.key", tlsKey.pem)
    try write("broken-tls.key", "-----BEGIN PRIVATE KEY-----\n\(text("rabbitmq.privateKeyFile"))\n")
    try write("publishers/canary.json", publisherFile(receiver))
    try FileManager.default.createDirectory(atPath: fleet.folder + "/broken", withIntermediateDirectories: true)
    try write("broken/canary.json", brokenPublisherFile)
  }

  private func keys(_ key: [UInt8]) -> String {
    #"{"keys": [{"id": "canary", "key": "\#(Base64.encode(key))"}]}"#
  }

  @LoopActor
  private func publisherFile(_ receiver: WebhookReceiver) -> String {
    """
    {"publisherId": \(Self.publisher), "customers": "open", "tokenHashes": ["\(planted["tokenHashes"]!.hash)"],
     "tokens": [{"name": "file", "tokenFile": "../tokens.tokenFile.txt", "scopes": ["read"]},
                {"name": "hash", "tokenHash": "\(planted["tokens.tokenHash"]!.hash)", "scopes": ["read"]}],
     "customerTokens": {"algorithm": "HS256", "secretFile": "../customer-token.txt", "keys": [
       {"kid": "second", "algorithm": "HS256", "secretFile": "../customerTokens.keys.secretFile.txt"}]},
     "sandboxAccess": "everybody", "offers": \(RunningFleet.offers),
     "apps": [{"bundleId": "com.example.app", "appAppleId": 1234567890, "issuerId": "issuer", "keyId": "KEY1",
               "privateKeyFile": "../app.p8"}],
     "doors": {
       "cleeng": {"enabled": true}, "playfab": {"enabled": true},
       "iaptic": {"enabled": true, "appName": "canary", "apiKeyHashes": ["\(planted["doors.iaptic.apiKeyHashes"]!.hash)"],
                  "secretKeyHashes": ["\(planted["doors.iaptic.secretKeyHashes"]!.hash)"]},
       "mbaasy": {"enabled": true, "clientTokens": [
         {"bundleId": "com.example.app", "tokenHash": "\(planted["doors.mbaasy.clientTokens"]!.hash)"}]}},
     "notifications": {
       "sharedSecretHashes": ["\(planted["notifications.sharedSecretHashes"]!.hash)"],
       "forwardTo": [{"url": "\(receiver.url("forward"))?key=\(text("notifications.forwardTo"))"}]},
     "webhooks": [{"id": "file", "url": "\(receiver.url("file"))?key=\(text("webhooks.url"))",
                   "secretFile": "../webhook.txt", "topics": ["inappPurchaseSyncResult"]}]}
    """
  }

  /// What people do wrong: secrets in place of hashes or of files, and files of another kind.
  private var brokenPublisherFile: String {
    """
    {"publisherId": \(Self.publisher), "tokenHashes": ["\(text("tokenHashes"))"],
     "customerTokens": {"algorithm": "ES256", "publicKeyFile": "../public-key.txt",
                        "secretFile": "\(text("customerTokens.secretFile"))", "keys": [
       {"kid": "a", "algorithm": "HS256", "secretFile": "\(text("customerTokens.keys.secretFile"))"},
       {"kid": "b", "algorithm": "ES256", "publicKeyFile": "../customerTokens.keys.publicKeyFile.txt"}],
                        "jwks": {"file": "../jwks.txt", "url": "ftp://x/?key=\(text("customerTokens.jwks.url"))"}},
     "tokens": [{"name": "\(text("tokens.name"))", "tokenHash": "\(text("tokens.tokenHash"))", "scopes": ["read"]},
                {"name": "b", "tokenFile": "\(text("tokens.tokenFile"))", "scopes": ["read"]}],
     "apps": [{"bundleId": "com.example.app", "appAppleId": 1, "issuerId": "i", "keyId": "k",
               "privateKeyFile": "../broken-app.p8"},
              {"bundleId": "com.example.other", "appAppleId": 1, "issuerId": "i", "keyId": "k",
               "privateKeyFile": "\(text("apps.privateKeyFile"))"}],
     "doors": {"iaptic": {"enabled": true, "appName": "a", "apiKeyHashes": ["\(text("doors.iaptic.apiKeyHashes"))"],
                          "secretKeyHashes": ["\(text("doors.iaptic.secretKeyHashes"))"]},
               "mbaasy": {"enabled": true, "clientTokens": [
                 {"bundleId": "x", "tokenHash": "\(text("doors.mbaasy.clientTokens"))"}]}},
     "notifications": {"sharedSecretHashes": ["\(text("notifications.sharedSecretHashes"))"],
                       "forwardTo": [{"url": "ftp://x/?key=\(text("notifications.forwardTo"))"},
                                     "\(text("notifications.forwardTo"))"]},
     "webhooks": [{"id": "file", "url": "ftp://x/?key=\(text("webhooks.url"))", "secretFile": "../broken-webhook.txt"},
                  {"id": "two", "url": "https://\(text("webhooks.url"))@example.com",
                   "secretFile": "whsec_\(Base64.encode(planted["webhooks.secretFile"]!.bytes))"}]}
    """
  }
}

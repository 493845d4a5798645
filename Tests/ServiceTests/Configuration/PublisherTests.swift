import Configuration
import Crypto
import Domain
import RoleSupport
import TestSupport
import Testing

/// The publishers' files.
struct PublisherTests: PublisherSuite {
  let folder: ConfigurationFolder

  init() throws { folder = try Self.makeFolder() }

  @Test func least() throws {
    try folder.write(#"{"publisherId": 7}"#, to: "publishers/a.json")
    let publisher = try #require(try folder.publishers()[7])
    #expect(publisher.customers == .registered)
    #expect(publisher.tokens.isEmpty)
    #expect(publisher.customerTokens == nil)
    #expect(publisher.apps.isEmpty)
    #expect(publisher.webhooks.isEmpty)
    #expect(publisher.sandboxAccess == .nobody)
    #expect(publisher.ownership == OwnershipPolicy(proof: .none, restore: .refuse))
    #expect(!publisher.isMigrating)
  }

  @Test func everything() throws {
    let publisher = try publisher(
      """
      "customers": "open", "tokenHashes": ["\(Self.hash)"],
      "customerTokens": {"algorithm": "HS256", "secretFile": "hs256.secret", "customerClaim": "sub"},
      "apps": [\(Self.app)],
      "offers": [{"offerId": "S1", "productIds": ["a", "b"]}, {"offerId": "P1", "productIds": ["c"], "accessDays": 30}],
      "webhooks": [\(Self.webhook)]
      """)
    #expect(publisher.customers == .open)
    #expect(publisher.tokens == [PublisherToken(unnamed: Array(repeating: 10, count: 32))])
    #expect(publisher.tokens[0].name == "token-0a0a0a0a" && publisher.tokens[0].scopes == Set(TokenScope.allCases))
    #expect(publisher.customerTokens?.customerClaim == "sub")
    #expect(publisher.customerTokens?.keys.map(\.key.algorithm) == ["HS256"])
    let app = try #require(publisher.apps.first)
    #expect(app.bundleId == "com.a")
    #expect(app.appAppleId == 5)
    #expect(app.environments == ["Production", "Sandbox"])
    #expect(app.isReleased)
    #expect(publisher.offers.offer(forProduct: "b")?.id == "S1")
    #expect(publisher.offers.offer(forProduct: "b")?.accessDays == nil)
    #expect(publisher.offers.offer(forProduct: "c")?.accessDays == 30)
    let webhook = try #require(publisher.webhooks.first)
    #expect(webhook.id == "w")
    #expect(webhook.url == "https://h/x?y=1")
    #expect(webhook.secret == Array(repeating: 7, count: 24))
    #expect(webhook.topics == ["inappPurchaseSyncResult"])
  }

  @Test func `notifications may go to other URLs, too`() throws {
    let policy = try publisher(
      #""notifications": {"forwardTo": [{"url": "https://h/a"}, {"url": "https://h/b", "environment": "Sandbox"}]}"#
    ).notifications
    #expect(
      policy.forwards == [
        NotificationForward(url: "https://h/a"), NotificationForward(url: "https://h/b", environment: .sandbox),
      ])
  }

  @Test(arguments: [
    (#""https://h/a""#, "notifications.forwardTo: is a string, expected a list of objects"),
    (#"["https://h/a"]"#, "notifications.forwardTo: is an array, expected a list of objects"),
    (#"[{}]"#, "notifications.forwardTo[0].url: is missing, expected a string"),
    (#"[{"url": "http://h/a"}]"#, "notifications.forwardTo[0].url: is not encrypted"),
    (#"[{"url": "https://10.0.0.1/a"}]"#, "notifications.forwardTo[0].url: leads to an address that is not public"),
    (#"[{"url": "https://h/a", "environment": "Xcode"}]"#, "notifications.forwardTo[0].environment: expected one of"),
    (
      #"[{"url": "https://h/a", "urll": "x"}]"#,
      "notifications.forwardTo[0].urll: is no key of this file; did you mean url?"
    ),
    (#"[{"url": "https://h/a", "topics": []}]"#, "notifications.forwardTo[0].topics: is no key of this file"),
    (#"[{"url": "https://h/a"}, {"url": "https://h/a"}]"#, "notifications.forwardTo: expected no URL twice"),
  ])
  func `a URL for notifications is judged as that of a webhook`(list: String, mistake: String) throws {
    let mistakes = try mistakes("\"notifications\": {\"forwardTo\": \(list)}")
    #expect(mistakes.count == 1 && mistakes[0].contains(mistake), "\(mistakes)")
  }

  @Test func sandboxNeedsNoAppleId() throws {
    let publisher = try publisher(
      #""apps": [{"bundleId": "a", "issuerId": "i", "keyId": "k", "privateKeyFile": "key.p8","#
        + #""environments": ["Sandbox"], "released": false}]"#)
    #expect(publisher.apps.first?.appAppleId == nil)
    #expect(publisher.apps.first?.isReleased == false)
  }

  @Test func sandboxAccess() throws {
    #expect(try publisher(#""sandboxAccess": "nobody""#).sandboxAccess == .nobody)
    #expect(try publisher(#""sandboxAccess": "everybody""#).sandboxAccess == .everybody)
    #expect(try publisher(#""sandboxAccess": []"#).sandboxAccess == .customers([CustomerId]()))
    let listed = try publisher(#""sandboxAccess": [7, 9223372036854775807, "7", "review-1"]"#).sandboxAccess
    #expect(listed == .customers(["7", "9223372036854775807", "review-1"]))
    for wrong in ["\"some\"", "[0]", "[-1]", "[1.5]", "[\"\"]", "[7, null]", "7", "true", "{}"] {
      let mistakes = try mistakes("\"sandboxAccess\": \(wrong)")
      #expect(mistakes.count == 1, "\(wrong)")
      #expect(mistakes.first?.contains("sandboxAccess") == true)
      #expect(mistakes.first?.contains("expected nobody, everybody or a list of customers") == true)
    }
  }

  @Test func ownership() throws {
    func policy(_ members: String) throws -> OwnershipPolicy { try publisher(#""ownership": {\#(members)}"#).ownership }
    #expect(try policy(#""proof": "none", "restore": "refuse""#) == OwnershipPolicy())
    #expect(
      try policy(#""proof": "signedTransaction", "restore": "transfer""#)
        == OwnershipPolicy(proof: .signedTransaction, restore: .transfer))
    #expect(
      try policy(#""proof": "appAccountToken", "restore": "transferIfInactive""#)
        == OwnershipPolicy(proof: .appAccountToken(derivation: nil), restore: .transferIfInactive))
    let namespace = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
    let derived = try policy(#""proof": "appAccountToken", "tokenNamespace": "\#(namespace)""#).proof
    let bytes = try #require(Hex.decode("6ba7b8109dad11d180b400c04fd430c8"))
    #expect(derived == .appAccountToken(derivation: .uuidV5(namespace: bytes)))
    #expect(try publisher(#""migrating": true"#).isMigrating)
    #expect(try publisher(#""mode": "shadow""#).audience.inShadow.count == 1)
    #expect(try publisher(#""mode": "live""#).audience.inShadow.isEmpty)
  }

  @Test(arguments: [
    ("ownership.proof", #""ownership": {"proof": "token"}"#),
    ("ownership.restore", #""ownership": {"restore": "yes"}"#),
    ("ownership.tokenNamespace", #""ownership": {"tokenNamespace": "example.com"}"#),
    ("ownership.tokenNamespace", #""ownership": {"tokenNamespace": 7}"#), ("migrating", #""migrating": "true""#),
    ("mode", #""mode": "silent""#),
  ])
  func wrongOwnership(key: String, members: String) throws {
    let mistakes = try mistakes(members)
    #expect(mistakes.count == 1)
    #expect(mistakes.first?.hasPrefix("publishers/a.json: \(key): ") == true)
  }

  @Test func publicKeys() throws {
    try folder.write(try P256PrivateKey.generate().publicKey.pem, to: "publishers/es256.pem")
    try folder.write(TestKeys.rsa2048, to: "publishers/rs256.pem")
    for (algorithm, other) in [("ES256", "RS256"), ("RS256", "ES256")] {
      let file = algorithm.lowercased() + ".pem"
      let publisher = try publisher(#""customerTokens": {"algorithm": "\#(algorithm)", "publicKeyFile": "\#(file)"}"#)
      #expect(publisher.customerTokens?.keys.map(\.key.algorithm) == [SignatureAlgorithm(algorithm)])
      #expect(publisher.customerTokens?.customerClaim == "customerId")
      let mistakes = try mistakes(#""customerTokens": {"algorithm": "\#(other)", "publicKeyFile": "\#(file)"}"#)
      #expect(mistakes.count == 1)
      #expect(
        mistakes.first?.hasPrefix(
          "publishers/a.json: customerTokens.publicKeyFile: expected a public key for \(other): ") == true)
    }
  }

  /// OpenSSL's numbers would help nobody.
  @Test(arguments: [
    (KeysOfOtherKinds.rsa, "it holds a private key"), ("x", "it holds no public key in PEM"),
    ("-----BEGIN CERTIFICATE-----\nx", "it holds a certificate"),
    ("-----BEGIN PUBLIC KEY-----\nx", "it ends too early"),
    (TestKeys.p384Public, "another kind of key or curve"),
    ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "it holds another kind of key, or is damaged"),
    (
      #"{"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE","#
        + #""y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"}"#,
      "could not read a P-256 public key: its numbers make no key"
    ),
    (
      #"{"kty" "EC"}"#,
      "it is not JSON: line 1, column 8: a character is unexpected; is a colon missing before it?"
    ),
  ])
  func `a file without a public key says what it holds`(text: String, problem: String) throws {
    try folder.write(text, to: "publishers/es256.pem")
    #expect(
      try mistakes(#""customerTokens": {"algorithm": "ES256", "publicKeyFile": "es256.pem"}"#)
        == ["publishers/a.json: customerTokens.publicKeyFile: expected a public key for ES256: \(problem)"])
  }

  @Test func `a key that is too short says so`() throws {
    try folder.write(TestKeys.rsa1024, to: "publishers/rs256.pem")
    #expect(
      try mistakes(#""customerTokens": {"algorithm": "RS256", "publicKeyFile": "rs256.pem"}"#) == [
        "publishers/a.json: customerTokens.publicKeyFile: expected a public key for RS256: 1024 bits are fewer than 2048"
      ])
  }

  @Test func severalFilesInTheOrderOfTheirIds() throws {
    try folder.write(#"{"publisherId": 9}"#, to: "publishers/a.json")
    try folder.write(#"{"publisherId": 8}"#, to: "publishers/b.json")
    try folder.write("no publisher", to: "publishers/notes.txt")
    let publishers = try folder.publishers()
    #expect(publishers.all.map(\.id) == [8, 9])
    #expect(publishers[8]?.id == 8)
    #expect(publishers[7] == nil)
  }
}

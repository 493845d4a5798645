import Configuration
import Crypto
import Domain
import RoleSupport
import TestSupport
import Testing
import Transport

/// Mistakes in the publishers' files.
struct PublisherMistakeTests: PublisherSuite {
  let folder: ConfigurationFolder

  init() throws { folder = try Self.makeFolder() }

  @Test func badHash() throws {
    let short = String(Self.hash.dropLast(2))
    #expect(
      try mistakes(#""tokenHashes": ["\#(short)", "token", "\#(Self.hash)"]"#) == [
        "publishers/a.json: tokenHashes[0]: expected 64 hexadecimal digits, the SHA-256 of a token and not the token",
        "publishers/a.json: tokenHashes[1]: expected 64 hexadecimal digits, the SHA-256 of a token and not the token",
      ])
  }

  /// An endpoint for an unknown topic would get no events, and its owner would not learn why.
  @Test(arguments: [
    (
      #"["inappPurchaseSyncResults"]"#, #"has "inappPurchaseSyncResults", "#, "; did you mean inappPurchaseSyncResult?"
    ), (#"["x"]"#, #"has "x", "#, ""), ("[]", "", ""),
    (#"["inappPurchaseSyncResult", "inappPurchaseSyncResult"]"#, "", ""),
  ])
  func otherTopics(topics: String, before: String, after: String) throws {
    try folder.write("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", to: "publishers/webhook.secret")
    let webhook = #"{"id": "w", "url": "https://h/x", "secretFile": "webhook.secret", "topics": \#(topics)}"#
    let expected = DoorCatalog([]).topicsExpectation
    #expect(
      try mistakes(#""webhooks": [\#(webhook)]"#)
        == ["publishers/a.json: webhooks[0]: topics: \(before)\(expected)\(after)"])
  }

  @Test func shortSecret() throws {
    // 31 bytes, without the line end.
    try folder.write("0123456789abcdef0123456789abcde\n", to: "publishers/hs256.secret")
    #expect(
      try mistakes(#""customerTokens": {"algorithm": "HS256", "secretFile": "hs256.secret"}"#)
        == ["publishers/a.json: customerTokens.secretFile: expected at least 32 bytes"])
  }

  @Test(arguments: [("HS256", "secretFile"), ("RS256", "publicKeyFile"), ("ES256", "publicKeyFile")])
  func algorithmWithoutItsKey(algorithm: String, key: String) throws {
    #expect(
      try mistakes(#""customerTokens": {"algorithm": "\#(algorithm)"}"#)
        == ["publishers/a.json: customerTokens.\(key): is missing, expected a string"])
  }

  @Test func otherAlgorithm() throws {
    #expect(
      try mistakes(#""customerTokens": {"algorithm": "HS512"}"#)
        == [
          "publishers/a.json: customerTokens.algorithm: is \"HS512\", expected one of none, HS256, RS256, ES256, EdDSA"
        ])
  }

  @Test func duplicateIds() throws {
    try folder.write(#"{"publisherId": 9}"#, to: "publishers/a.json")
    try folder.write(#"{"publisherId": 9}"#, to: "publishers/b.json")
    try folder.write(#"{"publisherId": 5}"#, to: "publishers/c.json")
    try folder.write(#"{"publisherId": 5}"#, to: "publishers/d.json")
    #expect(
      folder.publisherMistakes() == [
        "publishers: publisherId: 5 is in more than one file: c.json, d.json",
        "publishers: publisherId: 9 is in more than one file: a.json, b.json",
      ])
  }

  /// A publisher may repeat its own token, but two publishers must not share one.
  @Test func sharedToken() throws {
    let hashes = #""tokenHashes": ["\#(Self.hash)", "\#(Self.hash)"]"#
    try folder.write(#"{"publisherId": 10, \#(hashes)}"#, to: "publishers/a.json")
    #expect(folder.publisherMistakes() == [])
    try folder.write(#"{"publisherId": 9, \#(hashes)}"#, to: "publishers/b.json")
    #expect(folder.publisherMistakes() == ["publishers: tokenHashes: publishers 9 and 10 have one in common"])
  }

  @Test func duplicateWebhooks() throws {
    #expect(
      try mistakes(#""webhooks": [\#(Self.webhook), \#(Self.webhook)]"#)
        == ["publishers/a.json: webhooks: two endpoints have the id \"w\""])
  }

  @Test func duplicateApps() throws {
    #expect(
      try mistakes(#""apps": [\#(Self.app), \#(Self.app)]"#) == [
        "publishers/a.json: apps: two apps have the bundleId \"com.a\" in Production",
        "publishers/a.json: apps: two apps have the bundleId \"com.a\" in Sandbox",
      ])
  }

  /// U+212A (KELVIN SIGN) equals `K` as a Swift `String`.
  @Test func namesThatOnlyLookAlike() throws {
    let webhook = Self.webhook.replacing(#""w""#, with: #""K""#)
    let other = webhook.replacing(#""K""#, with: "\"\u{212A}\"")
    #expect(try publisher(#""webhooks": [\#(webhook), \#(other)]"#).webhooks.count == 2)
  }

  /// The names of budgets and lines have the id: it must not make one that is another app's.
  @Test(arguments: [
    "pause:com.a", "com.a|Sandbox", "com a", "com.\u{212A}", "com.a\\n", String(repeating: "a", count: 156),
  ])
  func bundleIdThatAppleDoesNotGiveOut(id: String) throws {
    let mistakes = try mistakes(#""apps": [\#(Self.app.replacing("com.a", with: id))]"#)
    #expect(mistakes.count == 1)
    #expect(mistakes.first?.hasPrefix("publishers/a.json: apps[0]: bundleId: is \"") == true)
    #expect(mistakes.first?.hasSuffix("expected 1 to 155 letters, digits, hyphens and periods") == true)
  }

  @Test func ambiguousProducts() throws {
    #expect(
      try mistakes(
        #""offers": [{"offerId": "A", "productIds": ["x", "y"]}, {"offerId": "B", "productIds": ["y", "x"]}]"#) == [
          "publishers/a.json: offers: product \"x\" is in two offers",
          "publishers/a.json: offers: product \"y\" is in two offers",
        ])
  }

  @Test func missingKeyFile() throws {
    let app = Self.app.replacing("key.p8", with: "missing.p8")
    #expect(
      try mistakes(#""apps": [\#(app)]"#)
        == [
          "publishers/a.json: apps[0]: privateKeyFile: the file that it names cannot be read: there is no such file; "
            + "it was looked for in publishers"
        ])
  }

  @Test(arguments: [
    ("no key", "holds no key in PEM"), (" \n", "is empty"), ("-----BEGIN CERTIFICATE-----\nx", "holds a certificate"),
    ("-----BEGIN PUBLIC KEY-----\nx", "holds a public key"),
    ("-----BEGIN EC PRIVATE KEY-----\nx", "holds a key in another form"),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nx", "holds a key with a passphrase"),
    ("-----BEGIN PRIVATE KEY-----\nx", "ends too early"),
    ("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n", "is damaged"),
    (KeysOfOtherKinds.rsa, "holds an RSA key"), (KeysOfOtherKinds.p384, "holds a P-384 key"),
    (KeysOfOtherKinds.ed25519, "holds an Ed25519 key"),
  ])
  func keyFileWithoutAKey(text: String, problem: String) throws {
    try folder.write(text, to: "publishers/key.p8")
    let mistakes = try mistakes(#""apps": [\#(Self.app)]"#)
    #expect(mistakes.count == 1)
    let start = "publishers/a.json: apps[0]: privateKeyFile: the file \(problem); expected the .p8 file of "
    #expect(mistakes.first?.hasPrefix(start) == true, "\(mistakes)")
  }

  @Test func appMistakes() throws {
    #expect(
      try mistakes(
        #""apps": [{"environments": ["Production", "Xcode"], "extra": 1}, {"environments": []}]"#) == [
          "publishers/a.json: apps[0]: environments: has \"Xcode\", expected Production or Sandbox",
          "publishers/a.json: apps[0]: appAppleId: is missing, expected the app's Apple id, since environments has "
            + "Production",
          "publishers/a.json: apps[0]: privateKeyFile: is missing, expected a string",
          "publishers/a.json: apps[0]: bundleId: is missing, expected a string",
          "publishers/a.json: apps[0]: issuerId: is missing, expected a string",
          "publishers/a.json: apps[0]: keyId: is missing, expected a string",
          "publishers/a.json: apps[0]: extra: is no key of this file",
          "publishers/a.json: apps[1]: environments: is empty, expected Production, Sandbox or both",
          "publishers/a.json: apps[1]: privateKeyFile: is missing, expected a string",
          "publishers/a.json: apps[1]: bundleId: is missing, expected a string",
          "publishers/a.json: apps[1]: issuerId: is missing, expected a string",
          "publishers/a.json: apps[1]: keyId: is missing, expected a string",
        ])
  }

  @Test(arguments: [
    ("h", "expected an https:// URL"), ("ftp://h", "expected an https:// URL"),
    ("mailto:a@b", "expected an https:// URL"), ("https://", "expected the name of a host"),
    ("http://h/x", "is not encrypted, expected an https:// URL"),
    ("https://10.1.2.3/x", "leads to an address that is not public; notifier.allowedNetworks can admit its network"),
    ("https://[::1]/x", "leads to an address that is not public; notifier.allowedNetworks can admit its network"),
  ])
  func badWebhookURL(url: String, defect: String) throws {
    let webhook = Self.webhook.replacing("https://h/x?y=1", with: url)
    #expect(try mistakes(#""webhooks": [\#(webhook)]"#) == ["publishers/a.json: webhooks[0]: url: \(defect)"])
  }

  /// The platform team's rules for the API's endpoints also hold for endpoints of the file.
  @Test func admittedWebhookURLs() throws {
    let addresses = WebhookAddress(
      allowsHTTP: true, policy: AddressPolicy(allowing: ["10.1.0.0/16"].compactMap { AddressBlock($0) }))
    func mistakes(_ url: String) throws -> [String] {
      let webhook = Self.webhook.replacing("https://h/x?y=1", with: url)
      try folder.write(#"{"publisherId": 7, "webhooks": [\#(webhook)]}"#, to: "publishers/a.json")
      return folder.mistakes {
        _ = try folder.loader().publishers(in: folder.path + "/publishers", addresses: addresses)
      }
    }
    #expect(try mistakes("http://10.1.2.3:8080/x") == [])
    #expect(try mistakes("http://10.2.2.3:8080/x").count == 1)
  }

  /// Secrets, and values that may hold one, at their own keys or at other keys of a publisher's file.
  @Test(arguments: ["hunter2", "dir/hunter2", "-----BEGIN PRIVATE KEY-----\\nhunter2\\n"])
  func secretsAreNotShown(secret: String) throws {
    let mistakes = try mistakes(
      """
      "tokenHashes": ["\(secret)"], "customerTokens": {"algorithm": "HS256", "secretFile": "\(secret)",
      "publicKeyFile": "\(secret)"}, "apps": [{"bundleId": "a", "appAppleId": 1, "issuerId": "i", "keyId": "k",
      "privateKeyFile": "\(secret)"}], "webhooks": [{"id": "w", "url": "https://a:\(secret)@h?\(secret)",
      "secretFile": "\(secret)"}]
      """)
    #expect(mistakes.count == 6)
    let others = try self.mistakes(
      #""tokenHashes": "\#(secret)", "customerTokens": "\#(secret)", "apps": "\#(secret)", "webhooks": ["\#(secret)"]"#)
    #expect(others.count >= 4)
    #expect((mistakes + others).allSatisfy { !$0.contains("hunter2") }, "\(mistakes) \(others)")
  }

  @Test func numbersAsText() throws {
    try folder.write(
      #"{"publisherId": "7", "apps": [\#(Self.app.replacing(": 5", with: #": "5""#))], "offers": "#
        + #"[{"offerId": "A", "productIds": ["x"], "accessDays": "3"}]}"#, to: "publishers/a.json")
    #expect(
      folder.publisherMistakes().map { $0.prefix { $0 != "," } } == [
        "publishers/a.json: publisherId: is \"7\"", "publishers/a.json: apps[0]: appAppleId: is \"5\"",
        "publishers/a.json: offers[0]: accessDays: is \"3\"",
      ])
  }

  @Test func duplicateKey() throws {
    #expect(
      try mistakes(#""offers": [{"offerId": "A", "productIds": ["x"], "offerId": "B"}]"#) == [
        "publishers/a.json: offerId: appears twice in one object, the second time at line 1, column 70"
      ])
  }

  @Test(arguments: [23, 65]) func badWebhookSecretLength(length: Int) throws {
    try folder.write("whsec_" + Base64.encode(Array(repeating: 7, count: length)), to: "publishers/webhook.secret")
    #expect(
      try mistakes(#""webhooks": [\#(Self.webhook)]"#)
        == ["publishers/a.json: webhooks[0]: secretFile: expected whsec_ and the base64 of 24 to 64 bytes"])
  }

  @Test(arguments: [
    "", "whsec_", "whsec_!!!!", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH", "WHSEC_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH",
  ])
  func badWebhookSecret(text: String) throws {
    try folder.write(text, to: "publishers/webhook.secret")
    #expect(
      try mistakes(#""webhooks": [\#(Self.webhook)]"#)
        == ["publishers/a.json: webhooks[0]: secretFile: expected whsec_ and the base64 of 24 to 64 bytes"])
  }

  @Test func webhooksWithoutAnything() throws {
    #expect(
      try mistakes(#""webhooks": [{}, {}]"#)
        == [0, 1].flatMap { index in
          ["url", "secretFile", "id"].map {
            "publishers/a.json: webhooks[\(index)]: \($0): is missing, expected a string"
          }
        })
  }

  @Test func wrongShapes() throws {
    #expect(
      try mistakes(#""apps": {}, "offers": "x", "customers": "all", "unheard": {"a": 1}"#) == [
        "publishers/a.json: apps: is an object, expected an array of objects",
        "publishers/a.json: offers: is a string, expected an array of objects",
        "publishers/a.json: customers: is \"all\", expected one of registered, open",
        "publishers/a.json: unheard.a: is no key of this file",
      ])
  }

  @Test(arguments: ["0", "-1", "1.5", "1000000000000", "\"x\"", "null"]) func badPublisherId(id: String) throws {
    try folder.write(#"{"publisherId": \#(id)}"#, to: "publishers/a.json")
    let mistakes = folder.publisherMistakes()
    #expect(mistakes.count == 1)
    #expect(mistakes.first?.hasSuffix("expected a whole number from 1 to 999999999999") == true)
  }

  /// The loader reads every file, even after a mistake in an earlier one.
  @Test func mistakesOfAllFiles() throws {
    try folder.write("{", to: "publishers/a.json")
    try folder.write(#"{"publisherId": 7, "customers": 1}"#, to: "publishers/b.json")
    try folder.write("[]", to: "publishers/c.json")
    let mistakes = folder.publisherMistakes()
    #expect(mistakes.count == 3)
    #expect(mistakes.first?.hasPrefix("publishers/a.json: is not JSON: ") == true)
    #expect(
      mistakes.dropFirst() == [
        "publishers/b.json: customers: is 1, expected one of registered, open",
        "publishers/c.json: is an array, expected a JSON object",
      ])
  }

  @Test func emptyFolder() {
    #expect(
      folder.publisherMistakes() == [
        "publishers: publishers.folder: has no .json file, expected one for each publisher"
      ])
  }

  @Test func missingFolder() throws {
    let error = #expect(throws: ConfigurationError.self) {
      try folder.loader().publishers(in: folder.path + "/missing")
    }
    let problem = "publishers.folder: the folder cannot be read: there is no such folder"
    #expect(error?.description == "\(folder.path)/missing: \(problem)")
  }
}

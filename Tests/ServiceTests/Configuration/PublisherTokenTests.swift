import Crypto
import Domain
import RoleSupport
import TestSupport
import Testing

@testable import Configuration

/// The publishers' tokens, and the keys of their customers' tokens, in the publishers' files.
struct PublisherTokenTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private static let hash = String(repeating: "0a", count: 32)
  private static let other = String(repeating: "0b", count: 32)

  private func publisher(_ members: String) throws -> Publisher {
    try folder.write(#"{"publisherId": 7, \#(members)}"#, to: "publishers/a.json")
    return try #require(try folder.publishers()[7])
  }

  /// The mistakes of one publisher, without the file's name.
  private func mistakes(_ members: String, _ addresses: WebhookAddress = WebhookAddress()) throws -> [String] {
    try folder.write(#"{"publisherId": 7, \#(members)}"#, to: "publishers/a.json")
    return folder.mistakes {
      _ = try folder.loader().publishers(in: folder.path + "/publishers", addresses: addresses)
    }.map { $0.replacing("publishers/a.json: ", with: "") }
  }

  // MARK: Publishers' tokens

  private static let allScopes =
    #"["register", "read", "endpoints", "admin", "grants", "sandbox-access", "export", "import"]"#

  private static func token(_ more: String = "", name: String = "billing", scopes: String = #"["read"]"#) -> String {
    #"{"name": "\#(name)", "scopes": \#(scopes)\#(more)}"#
  }

  @Test func `tokens have names, hashes or files, and scopes`() throws {
    try folder.write("a-token-of-16-chars\n", to: "publishers/token")
    let publisher = try publisher(
      """
      "tokenHashes": ["\(Self.other)", "\(Self.other)"], "tokens": [
        \(Self.token(#", "tokenHash": "\#(Self.hash)""#, scopes: Self.allScopes)),
        \(Self.token(#", "tokenFile": "token""#, name: "App.Store_1-x", scopes: #"["read", "register"]"#))]
      """)
    #expect(
      publisher.tokens == [
        PublisherToken(unnamed: Array(repeating: 11, count: 32)),
        PublisherToken(name: "billing", hash: Array(repeating: 10, count: 32), scopes: Set(TokenScope.allCases)),
        PublisherToken(
          name: "App.Store_1-x", hash: SHA256.hash(Array("a-token-of-16-chars".utf8)), scopes: [.read, .register]),
      ])
  }

  @Test func `mistakes of a token name its member and show no secret`() throws {
    func mistake(_ token: String) throws -> [String] { try mistakes(#""tokens": [\#(token)]"#) }
    let good = #", "tokenHash": "\#(Self.hash)""#
    #expect(try mistake(Self.token()) == ["tokens[0]: tokenHash: is missing, expected it or tokenFile"])
    #expect(
      try mistake(Self.token(#", "tokenHash": "hunter2""#)) == [
        "tokens[0]: tokenHash: expected 64 hexadecimal digits, the SHA-256 of a token and not the token"
      ])
    let names = "register, read, endpoints, admin, grants, sandbox-access, export, import"
    let list = "expected a list of \(names), at least one of them and none twice"
    for scopes in ["[]", #"["Read"]"#, #"["read", "read"]"#, #"["read", "write"]"#] {
      #expect(try mistake(Self.token(good, scopes: scopes)) == ["tokens[0]: scopes: \(list)"], "\(scopes)")
    }
    #expect(
      try mistake(#"{"name": "a"\#(good)}"#).first == "tokens[0]: scopes: is missing, expected a list of strings")
    for name in ["a b", "a:b", "\u{212A}", String(repeating: "x", count: 65)] {
      #expect(
        try mistake(Self.token(good, name: name)) == [
          #"tokens[0]: name: expected 1 to 64 ASCII letters, digits, ".", "_" or "-""#
        ], "\(name)")
    }
    #expect(try mistake(#"{"scopes": ["read"]\#(good)}"#) == ["tokens[0]: name: is missing, expected a string"])
    #expect(
      try mistake(Self.token(good + #", "scope": "x""#))
        == ["tokens[0]: scope: is no key of this file; did you mean scopes?"])
    #expect(try mistakes(#""tokens": {}"#) == ["tokens: is an object, expected an array of objects"])
  }

  @Test func `files of tokens`() throws {
    try folder.write("a-token-of-16-chars", to: "publishers/token")
    try folder.write("fifteen-chars-x", to: "publishers/short")
    try folder.write("a token with spaces in it", to: "publishers/spaces")
    for file in ["short", "spaces"] {
      #expect(
        try mistakes(#""tokens": [\#(Self.token(#", "tokenFile": "\#(file)""#))]"#) == [
          "tokens[0]: tokenFile: expected a file with at least 16 visible ASCII characters"
        ])
    }
    #expect(
      try mistakes(#""tokens": [\#(Self.token(#", "tokenFile": "token", "tokenHash": "\#(Self.hash)""#))]"#) == [
        "tokens[0]: tokenFile: is set beside tokenHash, expected one of them"
      ])
    let missing = try mistakes(#""tokens": [\#(Self.token(#", "tokenFile": "hunter2""#))]"#)
    #expect(missing.count == 1 && missing[0].hasPrefix("tokens[0]: tokenFile: the file that it names cannot be read"))
    #expect(!missing[0].contains("hunter2"))
  }

  @Test func `each name and each token stands once`() throws {
    func two(_ name: String, _ hash: String) -> String {
      let first = Self.token(#", "tokenHash": "\#(Self.hash)""#)
      return #""tokens": [\#(first), \#(Self.token(#", "tokenHash": "\#(hash)""#, name: name))]"#
    }
    #expect(try mistakes(two("shop", Self.other)) == [])
    #expect(try mistakes(two("billing", Self.other)) == [#"tokens: two tokens have the name "billing""#])
    #expect(
      try mistakes(two("shop", Self.hash)) == [
        #"tokens: "billing" and "shop" are one token, expected each token once"#
      ])
    #expect(
      try mistakes(#""tokenHashes": ["\#(Self.hash)"], "# + two("shop", Self.other)) == [
        #"tokens: "billing" and "token-0a0a0a0a" are one token, expected each token once"#
      ])
    #expect(
      try mistakes(#""tokenHashes": ["\#(Self.hash)"], "# + two("token-0a0a0a0a", Self.other)).contains(
        #"tokens: two tokens have the name "token-0a0a0a0a""#))
  }

  @Test func `two publishers do not share a token with a name either`() throws {
    try folder.write(#"{"publisherId": 9, "tokenHashes": ["\#(Self.hash)"]}"#, to: "publishers/b.json")
    #expect(
      try mistakes(#""tokens": [\#(Self.token(#", "tokenHash": "\#(Self.hash)""#))]"#) == [
        "publishers: tokenHashes: publishers 7 and 9 have one in common"
      ])
  }

  // MARK: Keys of customers' tokens

  private func write(_ key: P256PrivateKey) throws {
    try folder.write(key.publicKey.pem, to: "publishers/es256.pem")
    try folder.write(TestKeys.jwk(key.publicKey), to: "publishers/es256.jwk")
    try folder.write("0123456789abcdef0123456789abcdef", to: "publishers/hs256.secret")
  }

  @Test func `several keys, beside the single one`() throws {
    try write(try P256PrivateKey.generate())
    let policy = try #require(
      try publisher(
        """
        "customerTokens": {"algorithm": "HS256", "secretFile": "hs256.secret", "customerClaim": "sub", "keys": [
          {"kid": "a", "algorithm": "ES256", "publicKeyFile": "es256.pem"},
          {"kid": "b", "algorithm": "ES256", "publicKeyFile": "es256.jwk"},
          {"kid": "a", "algorithm": "HS256", "secretFile": "hs256.secret"}],
          "issuer": "me", "audience": "app", "maxLifetimeSeconds": 600, "clockLeewaySeconds": 5}
        """
      ).customerTokens)
    #expect(policy.keys.map(\.id) == [nil, "a", "b", "a"])
    #expect(policy.keys.map(\.key.algorithm) == ["HS256", "ES256", "ES256", "HS256"])
    #expect(policy.issuer == "me" && policy.audiences == ["app"] && policy.customerClaim == "sub")
    #expect(policy.maxLifetime == 600 && policy.leeway == 5 && policy.keySet == nil)
  }

  @Test func `without rules nothing is asked of a token besides`() throws {
    try write(try P256PrivateKey.generate())
    let policy = try #require(
      try publisher(
        #""customerTokens": {"keys": [{"kid": "a", "algorithm": "ES256", "publicKeyFile": "es256.pem"}], "audience": ["a", "b"]}"#
      ).customerTokens)
    #expect(policy.issuer == nil && policy.audiences == ["a", "b"] && policy.customerClaim == "customerId")
    #expect(policy.maxLifetime == nil && policy.leeway == 30)
    #expect(try publisher(#""customerTokens": {"issuer": "me"}"#).customerTokens == nil, "no key")
  }

  @Test func `EdDSA keys`() throws {
    try folder.write(
      "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n",
      to: "publishers/ed.pem")
    let publisher = try publisher(#""customerTokens": {"algorithm": "EdDSA", "publicKeyFile": "ed.pem"}"#)
    #expect(publisher.customerTokens?.keys.map(\.key.algorithm) == ["EdDSA"])
  }

  @Test func `mistakes of keys`() throws {
    try write(try P256PrivateKey.generate())
    func mistake(_ key: String) throws -> [String] { try mistakes(#""customerTokens": {"keys": [\#(key)]}"#) }
    let pem = #""publicKeyFile": "es256.pem""#
    #expect(
      try mistake(#"{"algorithm": "ES256", \#(pem)}"#) == [
        "customerTokens.keys[0]: kid: is missing, expected a string"
      ])
    #expect(
      try mistake(#"{"kid": "a", "algorithm": "none", \#(pem)}"#) == [
        #"customerTokens.keys[0]: algorithm: is "none", expected one of HS256, RS256, ES256, EdDSA"#
      ])
    #expect(
      try mistake(#"{"kid": "a", "algorithm": "RS256", "publicKeyFile": "es256.jwk"}"#) == [
        "customerTokens.keys[0]: publicKeyFile: expected a public key for RS256: it is a key for ES256"
      ])
    for algorithm in ["RS256", "EdDSA"] {
      let found = try mistake(#"{"kid": "a", "algorithm": "\#(algorithm)", \#(pem)}"#)
      #expect(found.count == 1 && found[0].contains("expected a public key for \(algorithm): "))
    }
    #expect(
      try mistake(#"{"kid": "a", "algorithm": "HS256", \#(pem)}"#) == [
        "customerTokens.keys[0]: secretFile: is missing, expected a string"
      ])
    #expect(
      try mistake(#"{"kid": "a", "algorithm": "ES256", \#(pem), "use": "sig"}"#) == [
        "customerTokens.keys[0]: use: is no key of this file"
      ])
    let key = #"{"kid": "a", "algorithm": "ES256", \#(pem)}"#
    #expect(
      try mistake("\(key), \(key)") == [
        #"customerTokens.keys: two keys have the kid and the algorithm "a ES256""#
      ])
    #expect(
      try mistakes(#""customerTokens": {"audience": [7]}"#) == [
        "customerTokens.audience: is an array, expected a string or a list of strings"
      ])
    #expect(try mistakes(#""customerTokens": {"clockLeewaySeconds": 301}"#).count == 1)
    #expect(try mistakes(#""customerTokens": {"maxLifetimeSeconds": -1}"#).count == 1)
  }

  // MARK: Key sets

  private static let rules = #""issuer": "https://id.example.com/", "audience": ["app"]"#

  @Test func `a set of keys in a file is read with the file`() throws {
    let key = try P256PrivateKey.generate().publicKey
    try folder.write(
      TestKeys.set([TestKeys.jwk(key, id: "a"), "7", TestKeys.jwk(key, id: "b")]), to: "publishers/keys.set")
    let tokens = #""customerTokens": {"jwks": {"file": "keys.set"}, \#(Self.rules)}"#
    let policy = try #require(try publisher(tokens).customerTokens)
    #expect(policy.keys.map(\.id) == ["a", "b"] && policy.keySet == nil)
    for (text, cause) in [
      ("[]", "it is not a JSON object with a list \"keys\""), (#"{"keys": []}"#, "it has no usable key"),
    ] {
      try folder.write(text, to: "publishers/keys.set")
      #expect(
        try mistakes(tokens) == ["customerTokens.jwks.file: expected a set of JSON Web Keys: \(cause)"])
    }
  }

  private func url(_ url: String, _ more: String = "", allowsHTTP: Bool = false) throws -> [String] {
    try mistakes(
      #""customerTokens": {"jwks": {"url": "\#(url)"\#(more)}, \#(Self.rules)}"#, WebhookAddress(allowsHTTP: allowsHTTP)
    )
  }

  @Test func `an address of a set`() throws {
    let policy = try #require(
      try publisher(#""customerTokens": {"jwks": {"url": "https://id.example.com/k?a=1"}, \#(Self.rules)}"#)
        .customerTokens)
    #expect(policy.keySet == KeySetAddress(url: "https://id.example.com/k?a=1") && policy.keys.isEmpty)
    // The operator writes this file, so the address may be in the operator's own network.
    for address in ["https://10.1.2.3:8443/keys", "https://keycloak.identity.svc/keys", "https://[::1]/keys"] {
      #expect(try url(address) == [])
    }
    #expect(try url("http://127.0.0.1:9/keys", allowsHTTP: true) == [])
  }

  @Test(arguments: [
    ("http://id.example.com/keys", "is not encrypted, expected an https:// URL"),
    ("id.example.com", "expected an https:// URL"),
    ("https://me:secret@id.example.com/", "has a user name or password; a set of keys is public"),
    ("https://id.example.com/#a", "has a fragment (#), which no server gets to see"),
  ])
  func `addresses that are refused`(address: String, expected: String) throws {
    #expect(try url(address) == ["customerTokens.jwks.url: \(expected)"])
  }

  @Test func `a set needs an issuer and an audience, and one place`() throws {
    try folder.write(
      TestKeys.set([TestKeys.jwk(try P256PrivateKey.generate().publicKey, id: "a")]), to: "publishers/set")
    for place in [#""url": "https://id.example.com/keys""#, #""file": "set""#] {
      let found = try mistakes(#""customerTokens": {"jwks": {\#(place)}}"#)
      #expect(
        found.map { $0.prefix { $0 != "," } } == [
          "customerTokens.issuer: is missing", "customerTokens.audience: is missing",
        ])
    }
    #expect(
      try url("https://id.example.com/keys", #", "file": "set""#) == [
        "customerTokens.jwks.url: is set beside file, expected one of them"
      ])
    let authorities = try url("https://id.example.com/keys", #", "caFile": "missing.pem""#)
    #expect(authorities.count == 1 && authorities[0].hasPrefix("customerTokens.jwks.caFile: the file "))
  }
}

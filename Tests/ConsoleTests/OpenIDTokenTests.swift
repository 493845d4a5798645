import Crypto
import Domain
import TestSupport
import Testing

@testable import Console

/// What an id token must be before anybody believes it.
struct OpenIDTokenTests {
  private static let now: Int64 = 1_790_000_000
  private let key: P256PrivateKey
  private let keys: [CustomerTokenKey]

  init() throws {
    key = try P256PrivateKey.generate()
    keys = [CustomerTokenKey(id: "one", .es256(key.publicKey))]
  }

  private static let expected = IDToken.Expected(
    issuer: "https://id.example", clientId: "console", nonce: "n", algorithms: ["RS256", "ES256"], now: now)

  /// The claims of a good token, with some of them changed; `nil` leaves one out.
  private static func claims(_ changes: [String: String?] = [:]) -> String {
    var claims: [String: String] = [
      "iss": #""https://id.example""#, "aud": #""console""#, "exp": "\(now + 300)", "iat": "\(now)", "nonce": #""n""#,
      "sub": #""s""#,
    ]
    for (name, value) in changes { claims[name] = value }
    return "{" + claims.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",") + "}"
  }

  /// What becomes of a token: `nil` if it is believed.
  private func refusal(
    _ token: String, _ expected: IDToken.Expected = expected, _ keys: [CustomerTokenKey]? = nil
  ) -> IDToken.Refusal? {
    do throws(IDToken.Refusal) {
      _ = try IDToken(token).verified(by: keys ?? self.keys, for: expected)
      return nil
    } catch {
      return error
    }
  }

  private func token(_ changes: [String: String?] = [:], kid: String? = "one") throws -> String {
    try TestKeys.token(Self.claims(changes), kid: kid, key)
  }

  private func signed(_ header: String, _ claims: String = claims()) throws -> String {
    let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    return text + "." + Base64URL.encode(try key.signature(for: Array(text.utf8)))
  }

  @Test func `a good token is believed`() throws {
    let claims = try IDToken(try token(["email": #""a@example.com""#])).verified(by: keys, for: Self.expected)
    #expect(claims.text("email") == "a@example.com" && claims.text("sub") == "s")
    // A provider with one key may leave its name out.
    #expect(refusal(try token(kid: nil)) == nil)
  }

  @Test(
    arguments: [
      ("iss", #""https://id.example/""#), ("iss", #""https://other.example""#), ("iss", nil), ("iss", "1"),
      ("aud", #""other""#), ("aud", nil), ("aud", "[]"), ("aud", #"["other"]"#), ("aud", #"["console",1]"#),
      ("exp", nil), ("exp", "\(now - 60)"), ("exp", #""\#(now + 300)""#), ("exp", "1e300"),
      ("iat", nil), ("iat", "\(now + 61)"), ("iat", "\(now - 660)"), ("iat", "-9e18"), ("nbf", "\(now + 61)"),
      ("nbf", #""now""#), ("nonce", nil), ("nonce", #""other""#), ("nonce", #"["n"]"#), ("sub", nil), ("sub", #""""#),
      ("sub", #""\#(String(repeating: "s", count: 256))""#), ("azp", #""other""#), ("azp", "null"),
    ] as [(String, String?)])
  func `a wrong claim is refused`(name: String, value: String?) throws {
    #expect(refusal(try token([name: value])) == .claim(name), "\(value ?? "none")")
  }

  @Test(
    arguments: [
      ["aud": #"["console"]"#], ["azp": #""console""#], ["aud": #"["console","api"]"#, "azp": #""console""#],
      ["exp": "\(now - 59)"], ["exp": "\(now).5"], ["iat": "\(now + 60)"], ["iat": "\(now - 659)"],
      ["nbf": "\(now + 60)"], ["sub": #""\#(String(repeating: "s", count: 255))""#],
    ] as [[String: String?]])
  func `what is just right is believed`(changes: [String: String?]) throws {
    #expect(refusal(try token(changes)) == nil)
  }

  /// With others beside us, a token that does not say for whom it was made may be somebody else's.
  @Test func `several audiences need a party`() throws {
    #expect(refusal(try token(["aud": #"["console","api"]"#])) == .claim("azp"))
    #expect(refusal(try token(["aud": #"["console","api"]"#, "azp": #""api""#])) == .claim("azp"))
  }

  @Test func `only a key of the provider signs`() throws {
    let other = try P256PrivateKey.generate()
    #expect(refusal(try TestKeys.token(Self.claims(), kid: "one", other)) == .signature)
    #expect(refusal(try token(kid: "two")) == .signature)
    #expect(refusal(try token(), Self.expected, []) == .signature)
    #expect(try IDToken(try token()).hasKey(among: keys) && !IDToken(try token(kid: "two")).hasKey(among: keys))
    // The claims of one token with the signature of another one.
    let (one, two) = (try token().split(separator: "."), try token(["sub": #""t""#]).split(separator: "."))
    #expect(refusal("\(two[0]).\(two[1]).\(one[2])") == .signature)
  }

  @Test func `the algorithm is one of the list, and one that the provider names`() throws {
    for name in ["none", "HS256", "es256", "ES384", "PS256", ""] {
      #expect(refusal(try signed(#"{"alg":"\#(name)","kid":"one"}"#)) == .algorithm, "\(name)")
    }
    // The public key as a shared secret: a known trick.
    let text =
      Base64URL.encode(Array(#"{"alg":"HS256","kid":"one"}"#.utf8)) + "." + Base64URL.encode(Array(Self.claims().utf8))
    let forged = HMACSHA256.authenticate(Array(text.utf8), key: Array(key.publicKey.pem.utf8))
    #expect(refusal(text + "." + Base64URL.encode(forged)) == .algorithm)
    let rsaOnly = IDToken.Expected(
      issuer: "https://id.example", clientId: "console", nonce: "n", algorithms: ["RS256"], now: Self.now)
    #expect(refusal(try token(), rsaOnly) == .algorithm)
    // The name in the header does not choose how a key is used.
    #expect(refusal(try signed(#"{"alg":"RS256","kid":"one"}"#)) == .signature)
  }

  @Test func `other texts are no tokens`() throws {
    let good = try token()
    let parts = good.split(separator: ".").map(String.init)
    for text in [
      "", ".", "..", "a.b", good + ".x", "\(parts[0]).\(parts[1])", "\(parts[0])=.\(parts[1]).\(parts[2])",
      "\(parts[0]).\(Base64URL.encode(Array("[]".utf8))).\(parts[2])", String(repeating: "a", count: 40_000),
      try signed(#"{"alg":"ES256","kid":"one","crit":["exp"]}"#), try signed(#"{"kid":"one"}"#), try signed("[]"),
      try signed(#"{"alg":"ES256"}"#, #"{"sub":"a","sub":"b"}"#),
      try signed(#"{"alg":"ES256"}"#, String(repeating: "[", count: 100)),
    ] {
      #expect(refusal(text) == .malformed, "\(text.prefix(80))")
    }
  }
}

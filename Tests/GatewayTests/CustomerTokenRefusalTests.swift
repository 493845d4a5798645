import Crypto
import Formats
import Testing

@testable import Configuration
@testable import Domain
@testable import Gateway

/// Each cause of a refused customer's token has a text of its own, and none tells a stranger too much.
struct CustomerTokenRefusalTests {
  private typealias Policy = Publisher.CustomerTokenPolicy
  private static let now: Int64 = 1_700_000_000

  private static func policy(_ keys: [(KeyId?, CustomerTokenKey.Key)]) -> Policy {
    Policy(keys: keys.map { CustomerTokenKey(id: $0.0, $0.1) }, customerClaim: "customerId")
  }

  private static func token(
    _ claims: String = TestToken.claims, alg: String = "HS256", more: String = "", key: [UInt8] = TestToken.secret
  ) -> String {
    TestToken.signed(claims, header: #"{"alg":"\#(alg)"\#(more)}"#, key: key)
  }

  /// What a gateway answers that knows publisher 7, and publisher 8 without customers' tokens.
  private func detail(_ token: String, _ policy: Policy? = nil) -> String? {
    let policy = policy ?? Self.policy([(nil, .hs256(TestToken.secret))])
    let authenticator = Authenticator(
      publishers: Publishers([TestToken.publisher(policy), TestToken.publisher(nil, 8)]), now: Self.now)
    do throws(Problem) {
      _ = try authenticator.customer(token)
      return nil
    } catch {
      return error.code == "AUTH0002" ? error.detail : error.code
    }
  }

  @Test(arguments: [#"{"customerId":42,"exp":1700000060}"#, "{}", #"{"aud":"7"}"#])
  func `a token without a publisher says so`(claims: String) {
    #expect(
      detail(Self.token(claims))
        == "publisherId: the customer's token names no publisher. Add the claim publisherId, or iss and aud.")
  }

  @Test func `nobody learns whether a publisher exists that accepts no customers' tokens`() {
    let texts = [
      #""publisherId":8"#, #""publisherId":9"#, #""publisherId":-1"#, #""publisherId":null"#, #""publisherId":[7]"#,
      #""iss":"https://nobody.example""#, #""iss":7"#,
    ].map { detail(Self.token("{\($0),\"customerId\":42,\"exp\":1700000060}")) }
    #expect(Set(texts).count == 1)
    #expect(texts[0]?.hasPrefix("publisherId: the claim publisherId (or iss and aud) names no publisher that ") == true)
  }

  @Test func `a token with crit is refused before its publisher is looked at`() {
    let texts = [7, 8, 9].map {
      detail(Self.token("{\"publisherId\":\($0),\"exp\":1700000060}", more: #","crit":["b64"],"b64":false"#))
    }
    #expect(Set(texts).count == 1)
    #expect(texts[0]?.hasPrefix("crit: ") == true)
  }

  @Test(arguments: ["none", "RS256", "HS512", "EdDSA", "Ed25519", "PS256"])
  func `a well-known algorithm is named, and so are those that the publisher accepts`(alg: String) throws {
    let key = try P256PrivateKey.generate().publicKey
    let policy = Self.policy([("a", .hs256(TestToken.secret)), ("b", .es256(key)), ("c", .hs256(TestToken.other))])
    #expect(
      detail(Self.token(alg: alg), policy)
        == "alg: the customer's token has the algorithm \(alg); its publisher accepts HS256, ES256.")
  }

  @Test(arguments: ["", "hs256", "HS256 ", "<script>", "HS2\u{5}6"]) func `another text is not repeated`(alg: String) {
    let escaped = alg.replacing("\u{5}", with: "\\u0005")
    #expect(
      detail(Self.token(alg: escaped))
        == "alg: the customer's token has an unknown algorithm; its publisher accepts HS256.")
  }

  @Test func `a publisher whose key set has become empty accepts nothing`() {
    #expect(
      CustomerTokenRefusal(algorithm: "ES256", keyId: "a", keys: [], found: nil).detail
        == "alg: the customer's token has the algorithm ES256; its publisher accepts no token, because it has no key now."
    )
  }

  @Test func `a token without kid does not choose among several keys`() {
    let text = detail(Self.token(), Self.policy([("a", .hs256(TestToken.secret)), ("b", .hs256(TestToken.other))]))
    #expect(
      text?.hasPrefix(
        "kid: the customer's token names no key, and its publisher has several keys for the algorithm HS256. ") == true)
  }

  @Test func `an unknown kid is refused without naming any key`() throws {
    let key = try P256PrivateKey.generate().publicKey
    let policy = Self.policy([("first", .hs256(TestToken.secret)), ("second", .es256(key))])
    for kid in ["third", "", "FIRST", "second"] {
      let text = detail(Self.token(more: #","kid":"\#(kid)""#), policy)
      #expect(text?.hasPrefix("kid: no key of the publisher has the kid and the alg of the customer's token.") == true)
      for name in ["first", "second", "third"] { #expect(text?.contains(name) == false) }
    }
  }

  @Test func `a wrong signature is told last`() {
    #expect(detail(Self.token(key: TestToken.other))?.hasPrefix("signature: it does not fit the key that ") == true)
    // The claims stay unread before the signature is good.
    let expired = #"{"publisherId":7,"customerId":42,"exp":0}"#
    #expect(detail(Self.token(expired, key: TestToken.other))?.hasPrefix("signature: ") == true)
    #expect(detail(Self.token(expired))?.hasPrefix("exp: ") == true)
    #expect(detail(Self.token()) == nil)
  }
}

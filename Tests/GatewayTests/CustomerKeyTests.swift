import Crypto
import Formats
import HTTPServer
import TestSupport
import Testing

@testable import Configuration
@testable import Domain
@testable import Gateway

/// Customers' tokens of publishers with several keys, with key sets, and with rules about claims.
struct CustomerKeyTests {
  private typealias Policy = Publisher.CustomerTokenPolicy
  private static let now: Int64 = 1_700_000_000
  private static let address = KeySetAddress(url: "https://id.example.com/keys")

  private static func hs256(
    _ claims: String = TestToken.claims, kid: String? = nil, key: [UInt8] = TestToken.secret
  ) -> String {
    TestToken.signed(claims, header: #"{"alg":"HS256"\#(kid.map { #","kid":"\#($0)""# } ?? "")}"#, key: key)
  }

  private func customer(
    _ token: String, _ policy: Policy, _ keySets: [PublisherId: KeySetCache] = [:],
    asks: (PublisherId) -> Bool = { _ in false }
  ) -> Result<Caller, Problem> {
    withoutActuallyEscaping(asks) { asks in
      let authenticator = Authenticator(
        publishers: Publishers([TestToken.publisher(policy)]), keySets: keySets, now: Self.now, asksForKey: asks)
      return Result { () throws(Problem) in try authenticator.customer(token) }
    }
  }

  private func id(_ token: String, _ policy: Policy) -> CustomerId? { try? customer(token, policy).get().customerId }

  private func detail(_ token: String, _ policy: Policy) -> String? {
    if case .failure(let problem) = customer(token, policy) { problem.detail } else { nil }
  }

  private static func named(_ keys: [(KeyId?, [UInt8])]) -> Policy {
    Policy(keys: keys.map { CustomerTokenKey(id: $0.0, .hs256($0.1)) }, customerClaim: "customerId")
  }

  // MARK: Which key

  @Test func `a kid leads to its key only`() {
    let policy = Self.named([("a", TestToken.secret), ("b", TestToken.other)])
    #expect(id(Self.hs256(kid: "a"), policy) == "42")
    #expect(id(Self.hs256(kid: "b", key: TestToken.other), policy) == "42")
    #expect(id(Self.hs256(kid: "b"), policy) == nil)
    #expect(id(Self.hs256(kid: "A"), policy) == nil)
    #expect(id(Self.hs256(kid: ""), policy) == nil)
    #expect(id(Self.hs256(), policy) == nil, "two keys fit")
  }

  @Test func `ids of keys are their bytes`() {
    #expect(id(Self.hs256(kid: "\u{E9}"), Self.named([("\u{E9}", TestToken.secret), ("b", TestToken.other)])) == "42")
    #expect(id(Self.hs256(kid: "e\u{301}"), Self.named([("\u{E9}", TestToken.secret), ("b", TestToken.other)])) == nil)
  }

  @Test func `a token without kid needs a single key of its algorithm`() throws {
    let ec = try P256PrivateKey.generate()
    let policy = Policy(
      keys: [CustomerTokenKey(id: "a", .hs256(TestToken.secret)), CustomerTokenKey(id: "b", .es256(ec.publicKey))],
      customerClaim: "customerId")
    #expect(id(Self.hs256(), policy) == "42")
    let text = TestToken.unsigned(header: #"{"alg":"ES256"}"#)
    #expect(id(text + "." + Base64URL.encode(try ec.signature(for: Array(text.utf8))), policy) == "42")
  }

  /// The single key of a file goes on to serve its tokens while named keys are added beside it.
  @Test func `a key without an id serves tokens without a kid`() {
    let policy = Self.named([("a", TestToken.other), (nil, TestToken.secret), ("b", TestToken.other)])
    #expect(id(Self.hs256(), policy) == "42")
    #expect(id(Self.hs256(key: TestToken.other), policy) == nil)
    #expect(id(Self.hs256(), Self.named([(nil, TestToken.secret), (nil, TestToken.secret)])) == nil, "two keys fit")
  }

  @Test func `a key without an id serves any kid that no other key has`() {
    #expect(id(Self.hs256(kid: "any"), Self.named([(nil, TestToken.secret)])) == "42")
    #expect(id(Self.hs256(kid: "any"), Self.named([(nil, TestToken.secret), ("b", TestToken.other)])) == "42")
    #expect(id(Self.hs256(kid: "b"), Self.named([(nil, TestToken.secret), ("b", TestToken.other)])) == nil)
    #expect(id(Self.hs256(kid: "any"), Self.named([(nil, TestToken.secret), (nil, TestToken.other)])) == nil)
  }

  /// The old attacks: an algorithm that is not the key's, with the key's public text as the secret.
  @Test func `a kid does not bend a key to another algorithm`() throws {
    let ec = try P256PrivateKey.generate().publicKey
    let policy = Policy(
      keys: [CustomerTokenKey(id: "ec", .es256(ec)), CustomerTokenKey(id: "hs", .hs256(TestToken.secret))],
      customerClaim: "customerId")
    #expect(id(Self.hs256(kid: "ec", key: Array(ec.pem.utf8)), policy) == nil)
    #expect(id(Self.hs256(kid: "ec"), policy) == nil, "another key's secret")
    for alg in ["none", "ES256", "EdDSA", "HS512"] {
      let text = TestToken.unsigned(header: #"{"alg":"\#(alg)","kid":"hs"}"#)
      #expect(id(text + ".", policy) == nil)
      let mac = HMACSHA256.authenticate(Array(text.utf8), key: TestToken.secret)
      #expect(id(text + "." + Base64URL.encode(mac), policy) == nil, "\(alg)")
    }
  }

  /// RFC 7515, section 4.1: a token that brings or names its own key signs nothing.
  @Test func `a token's own keys are ignored`() throws {
    let key = try P256PrivateKey.generate()
    let jwk = TestKeys.jwk(key.publicKey, id: "a")
    for more in [#""jwk":\#(jwk)"#, #""jku":"https://evil.example/keys""#, #""x5c":["MIIB"]"#] {
      let text = TestToken.unsigned(header: #"{"alg":"ES256","kid":"a",\#(more)}"#)
      let token = text + "." + Base64URL.encode(try key.signature(for: Array(text.utf8)))
      let own = Policy(keys: [CustomerTokenKey(id: "a", .es256(key.publicKey))], customerClaim: "customerId")
      #expect(id(token, own) == "42")
      let others = try P256PrivateKey.generate().publicKey
      #expect(
        id(token, Policy(keys: [CustomerTokenKey(id: "a", .es256(others))], customerClaim: "customerId")) == nil)
    }
  }

  @Test(arguments: ["EdDSA", "Ed25519"]) func `EdDSA has two names`(alg: String) throws {
    let key = try Ed25519PrivateKey(seed: Array(repeating: 7, count: 32))
    let policy = Policy(key: .eddsa(try Ed25519PublicKey(key.publicKey)), customerClaim: "customerId")
    let text = TestToken.unsigned(header: #"{"alg":"\#(alg)"}"#)
    let token = text + "." + Base64URL.encode(try key.signature(for: Array(text.utf8)))
    #expect(id(token, policy) == "42")
    #expect(id(text + "." + Base64URL.encode(Array(repeating: 0, count: 64)), policy) == nil)
  }

  @Test func `critical extensions are refused with every key`() throws {
    let key = try Ed25519PrivateKey(seed: Array(repeating: 7, count: 32))
    let policy = Policy(key: .eddsa(try Ed25519PublicKey(key.publicKey)), customerClaim: "customerId")
    let text = TestToken.unsigned(header: #"{"alg":"EdDSA","crit":["b64"],"b64":false}"#)
    #expect(id(text + "." + Base64URL.encode(try key.signature(for: Array(text.utf8))), policy) == nil)
  }

  // MARK: Key sets

  private static func fetched(_ keys: [CustomerTokenKey]) -> KeySetCache {
    var cache = KeySetCache(at: .now)
    _ = cache.look(at: .now)
    cache.fetched(keys, maxAge: nil, at: .now)
    return cache
  }

  private static func set(_ more: [CustomerTokenKey] = []) -> Policy {
    Policy(keys: more, keySet: address, customerClaim: "customerId")
  }

  @Test func `fetched keys count like those of the file, for their publisher only`() throws {
    let key = try P256PrivateKey.generate()
    let text = TestToken.unsigned(header: #"{"alg":"ES256","kid":"a"}"#)
    let token = text + "." + Base64URL.encode(try key.signature(for: Array(text.utf8)))
    let cache = Self.fetched([CustomerTokenKey(id: "a", .es256(key.publicKey))])
    #expect(try customer(token, Self.set(), [7: cache]).get().customerId == "42")
    #expect(throws: Problem.keysNotKnown) { try customer(token, Self.set(), [8: cache]).get() }
    // Keys that came for an address that the file no longer names.
    let without = Self.named([("b", TestToken.secret)])
    if case .failure(let problem) = customer(token, without, [7: cache]) {
      #expect(problem.status == 401)
    } else {
      Issue.record("a key of another policy counts")
    }
  }

  @Test func `without any fetch the answer is 503, and a key of the file still counts`() {
    var asked: [PublisherId] = []
    let policy = Self.set([CustomerTokenKey(id: "a", .hs256(TestToken.secret))])
    for sets: [PublisherId: KeySetCache] in [[:], [7: KeySetCache(at: .now)]] {
      let answer = customer(Self.hs256(kid: "b"), policy, sets) { id in
        asked.append(id)
        return false
      }
      #expect(throws: Problem.keysNotKnown) { try answer.get() }
    }
    #expect(asked == [7, 7])
    #expect(Problem.keysNotKnown.status == 503 && Problem.keysNotKnown.retryAfter != nil)
    #expect(id(Self.hs256(kid: "a"), policy) == "42")
    #expect(detail(Self.hs256(kid: "a", key: TestToken.other), policy)?.hasPrefix("signature: ") == true)
  }

  @Test func `an unknown kid asks for a fetch, and is refused unless one runs`() {
    let sets = [PublisherId(7): Self.fetched([CustomerTokenKey(id: "a", .hs256(TestToken.secret))])]
    var asked = 0
    func status(_ token: String, runs: Bool) -> Int? {
      let answer = customer(token, Self.set(), sets) { _ in
        asked += 1
        return runs
      }
      if case .failure(let problem) = answer { return problem.status } else { return nil }
    }
    #expect(status(Self.hs256(kid: "b"), runs: true) == 503 && asked == 1)
    #expect(status(Self.hs256(kid: "b"), runs: false) == 401 && asked == 2)
    // A known key that has not signed the token is nothing new.
    #expect(status(Self.hs256(kid: "a", key: TestToken.other), runs: true) == 401 && asked == 2)
    // Without a kid, a new key may have signed it.
    #expect(status(Self.hs256(key: TestToken.other), runs: true) == 503 && asked == 3)
    #expect(status(Self.hs256(kid: "a"), runs: true) == nil && asked == 3)
  }

  // MARK: Claims

  private static func ruled(
    issuer: TokenIssuer? = nil, audiences: [TokenAudience] = [], maxLifetime: Int64? = nil,
    leeway: Int64 = Policy.defaultLeeway
  ) -> Policy {
    Policy(
      keys: [CustomerTokenKey(.hs256(TestToken.secret))], customerClaim: "customerId", issuer: issuer,
      audiences: audiences, maxLifetime: maxLifetime, leeway: leeway)
  }

  private static func token(_ more: String, exp: Int64 = now + 60) -> String {
    hs256(#"{"publisherId":7,"customerId":42,"exp":\#(exp)\#(more)}"#)
  }

  @Test func issuer() {
    let policy = Self.ruled(issuer: "https://id.example.com/")
    #expect(id(Self.token(#","iss":"https://id.example.com/""#), policy) == "42")
    for iss in ["", #","iss":"https://id.example.com""#, #","iss":["https://id.example.com/"]"#, #","iss":7"#] {
      #expect(detail(Self.token(iss), policy)?.hasPrefix("iss: ") == true, "\(iss)")
    }
    #expect(id(Self.token(#","iss":"anybody""#), Self.ruled()) == "42")
  }

  @Test func audiences() {
    let policy = Self.ruled(audiences: ["one", "two"])
    for aud in [#""one""#, #"["two"]"#, #"["x","one"]"#, #"["one","two"]"#] {
      #expect(id(Self.token(#","aud":\#(aud)"#), policy) == "42", "\(aud)")
    }
    for aud in [#""One""#, "[]", #"["x"]"#, #""one two""#, #"["one",7]"#, "null", "{}"] {
      #expect(detail(Self.token(#","aud":\#(aud)"#), policy)?.hasPrefix("aud: ") == true, "\(aud)")
    }
    #expect(detail(Self.token(""), policy)?.hasPrefix("aud: ") == true)
    #expect(id(Self.token(#","aud":"anybody""#), Self.ruled()) == "42")
  }

  @Test func lifetimes() {
    let policy = Self.ruled(maxLifetime: 600)
    #expect(id(Self.token(#","iat":1700000000"#, exp: Self.now + 600), policy) == "42")
    #expect(id(Self.token(#","iat":1699999900.5"#, exp: Self.now + 60), policy) == "42")
    #expect(detail(Self.token(#","iat":1700000000"#, exp: Self.now + 601), policy)?.hasPrefix("exp: ") == true)
    #expect(detail(Self.token(#","iat":1699999000"#), policy)?.hasPrefix("exp: ") == true)
    for iat in ["", #","iat":"now""#, #","iat":null"#] {
      #expect(detail(Self.token(iat), policy)?.hasPrefix("iat: ") == true, "\(iat)")
    }
    #expect(id(Self.token(#","iat":1700000030"#), policy) == "42")
    #expect(detail(Self.token(#","iat":1700000031"#), policy)?.hasPrefix("iat: ") == true, "from the future")
    let extreme = Self.token(#","iat":-9223372036854775808"#, exp: .max)
    #expect(detail(extreme, policy)?.hasPrefix("exp: ") == true)
    #expect(id(Self.token("", exp: Self.now + 99_999_999), Self.ruled()) == "42", "without a limit")
  }

  @Test func leeway() {
    let (none, much) = (Self.ruled(leeway: 0), Self.ruled(leeway: 300))
    #expect(detail(Self.token("", exp: Self.now), none)?.hasPrefix("exp: ") == true)
    #expect(id(Self.token("", exp: Self.now + 1), none) == "42")
    #expect(id(Self.token("", exp: Self.now - 299), much) == "42")
    #expect(detail(Self.token(#","nbf":1700000001"#), none)?.hasPrefix("nbf: ") == true)
    #expect(id(Self.token(#","nbf":1700000300"#), much) == "42")
  }

  // MARK: Which publisher

  private func found(_ claims: String, _ publishers: [Publisher]) -> PublisherId? {
    let authenticator = Authenticator(publishers: Publishers(publishers), now: Self.now)
    return try? authenticator.customer(Self.hs256(claims)).publisher.id
  }

  /// An identity provider does not know our numbers.
  @Test func `a token without publisherId finds its publisher by issuer and audience`() {
    let publishers = [
      TestToken.publisher(Self.ruled(issuer: "one", audiences: ["app"]), 7),
      TestToken.publisher(Self.ruled(issuer: "one", audiences: ["tv", "both"]), 8),
      TestToken.publisher(Self.ruled(issuer: "two", audiences: ["both"]), 9), TestToken.publisher(Self.ruled(), 10),
      TestToken.publisher(Self.ruled(issuer: "three"), 11),
      TestToken.publisher(Self.ruled(issuer: "three", audiences: ["x"]), 12),
    ]
    func claims(_ iss: String, _ aud: String, _ more: String = "") -> String {
      #"{"customerId":"42","exp":1700000060,"iss":"\#(iss)","aud":\#(aud)\#(more)}"#
    }
    #expect(found(claims("one", #""app""#), publishers) == 7)
    #expect(found(claims("one", #"["x","tv"]"#), publishers) == 8)
    #expect(found(claims("one", #""both""#), publishers) == 8)
    #expect(found(claims("two", #""both""#), publishers) == 9)
    #expect(found(claims("one", #"["app","tv"]"#), publishers) == nil, "two publishers")
    #expect(found(claims("one", "[]"), publishers) == nil)
    #expect(found(claims("four", #""app""#), publishers) == nil)
    #expect(found(claims("three", #""y""#), publishers) == 11)
    #expect(found(claims("three", #""x""#), publishers) == nil, "two publishers")
    // The claim comes first, and must be right.
    #expect(found(claims("one", #""app""#, #","publisherId":8"#), publishers) == nil)
    #expect(found(claims("three", #""x""#, #","publisherId":12"#), publishers) == 12)
    #expect(found(claims("one", #""app""#, #","publisherId":null"#), publishers) == nil)
  }

  // MARK: Scopes

  @Test(arguments: TokenScope.allCases) func `a token without a scope is told which one it lacks`(scope: TokenScope) {
    func refusal(_ scopes: Set<TokenScope>) -> Problem? {
      let token = PublisherToken(name: "billing", hash: Array(repeating: 1, count: 32), scopes: scopes)
      let caller = Caller(publisher: TestToken.publisher(nil), customerId: nil, token: token)
      do throws(Problem) {
        try caller.require(scope)
        return nil
      } catch {
        return error
      }
    }
    #expect(refusal([scope]) == nil && refusal(Set(TokenScope.allCases)) == nil)
    for problem in [refusal([]), refusal(Set(TokenScope.allCases).subtracting([scope]))] {
      #expect(problem?.status == 403 && problem?.code == "AUTH0004")
      #expect(problem?.message == "The token lacks the scope \(scope.rawValue)")
      #expect(problem?.detail?.contains("\"billing\"") == true)
      let challenge = problem?.response.headers.first { $0.name == "WWW-Authenticate" }?.value
      #expect(
        challenge == #"Bearer realm="countersign", error="insufficient_scope", scope="\#(scope.rawValue)""#)
    }
  }

  @Test func `a customer needs no scope, and nobody's token has none`() throws {
    try Caller(publisher: TestToken.publisher(nil), customerId: "42").require(.read)
    #expect(throws: Problem.self) { try Caller(publisher: TestToken.publisher(nil), customerId: nil).require(.read) }
  }
}

import Crypto
import Formats
import HTTPServer
import Testing

@testable import Configuration
@testable import Domain
@testable import Gateway

/// Credentials that the gateway accepts, and credentials that it must refuse.
struct AuthenticatorTests {
  private static let now: Int64 = 1_700_000_000
  private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
  private typealias Key = Publisher.CustomerTokenPolicy.Key

  private static func publisher(
    _ id: PublisherId, tokens: [String] = [], key: Key? = nil, claim: String = "customerId"
  ) -> Publisher {
    Publisher(
      id: id, customers: .open, tokenHashes: tokens.map { SHA256.hash(Array($0.utf8)) },
      customerTokens: key.map { Publisher.CustomerTokenPolicy(key: $0, customerClaim: claim) }, apps: [],
      offers: OfferCatalog([]), webhooks: [])
  }

  private func caller(_ headers: [(name: String, value: String)], _ publishers: [Publisher]) throws(Problem) -> Caller {
    try Authenticator(publishers: Publishers(publishers), now: Self.now)
      .caller(of: HTTPServerRequest(method: "GET", path: [], headers: headers))
  }

  private func refusal(_ headers: [(name: String, value: String)], _ publishers: [Publisher]) -> Problem? {
    do {
      _ = try caller(headers, publishers)
      return nil
    } catch {
      return error
    }
  }

  private static func unsigned(_ header: String, _ claims: String) -> String {
    Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
  }

  private static func hs256(
    _ claims: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#, key: [UInt8] = secret
  ) -> String {
    let signed = unsigned(header, claims)
    return signed + "." + Base64URL.encode(HMACSHA256.authenticate(Array(signed.utf8), key: key))
  }

  private func bearer(_ token: String, _ publishers: [Publisher]? = nil) -> Result<Caller, Problem> {
    let publishers = publishers ?? [Self.publisher(7, key: .hs256(Self.secret)), Self.publisher(8)]
    return Result { () throws(Problem) in try caller([("authorization", "Bearer \(token)")], publishers) }
  }

  private func isRefused(_ token: String, _ publishers: [Publisher]? = nil) -> Bool {
    if case .failure(let problem) = bearer(token, publishers) { problem.code == "AUTH0002" } else { false }
  }

  /// A gateway that knows publisher 7, and cannot use the file of another one.
  private func code(
    _ headers: [(name: String, value: String)], beside broken: BrokenPublisher, at now: Int64 = now
  ) -> String? {
    let publishers = Publishers([Self.publisher(7, tokens: ["seven"], key: .hs256(Self.secret))], broken: [broken])
    do {
      _ = try Authenticator(publishers: publishers, now: now)
        .caller(of: HTTPServerRequest(method: "GET", path: [], headers: headers))
      return nil
    } catch {
      if error.status == 503 { #expect(error.retryAfter == 30) }
      return error.code
    }
  }

  @Test func `callers of a publisher whose file has a mistake come again, and strangers are refused`() {
    let remains = Publisher(
      id: 8, customers: .open, tokenHashes: [SHA256.hash(Array("eight".utf8))],
      customerTokens: Publisher.CustomerTokenPolicy(
        keys: [], customerClaim: "customerId", issuer: "https://i", audiences: ["shop"]),
      apps: [], offers: OfferCatalog([]), webhooks: [])
    let broken = BrokenPublisher(file: "8.json", id: 8, mistakes: ["x"], remains: remains, hidesCallers: false)
    func bearer(_ claims: String) -> [(name: String, value: String)] {
      [("Authorization", "Bearer \(Self.hs256(claims))")]
    }
    #expect(code([("X-Publisher-Token", "seven")], beside: broken) == nil)
    #expect(code([("X-Publisher-Token", "eight")], beside: broken) == "PUB0001")
    #expect(code([("X-Publisher-Token", "nine")], beside: broken) == "AUTH0002")
    #expect(code(bearer(Self.claims()), beside: broken) == nil)
    #expect(code(bearer(#"{"publisherId":8}"#), beside: broken) == "PUB0001")
    #expect(code(bearer(#"{"publisherId":9}"#), beside: broken) == "AUTH0002")
    #expect(code(bearer(#"{"iss":"https://i","aud":"shop"}"#), beside: broken) == "PUB0001")
    #expect(code(bearer(#"{"iss":"https://i","aud":"other"}"#), beside: broken) == "AUTH0002")
    // A publisher that stays as it was has the credentials that it had.
    var kept = broken
    kept.isKept = true
    #expect(code([("X-Publisher-Token", "eight")], beside: kept) == "AUTH0002")
  }

  @Test func `while a file tells no credential, a stranger may be its caller for an hour`() {
    let start = Self.now - 3599
    let broken = BrokenPublisher(file: "x.json", id: nil, mistakes: ["x"], hidesCallers: true, since: start * 1000)
    #expect(code([("X-Publisher-Token", "nine")], beside: broken) == "PUB0001")
    #expect(code([("X-Publisher-Token", "nine")], beside: broken, at: Self.now + 1) == "AUTH0002")
    #expect(code([("X-Publisher-Token", "seven")], beside: broken) == nil)
    // The publisher's own keys still decide.
    let unsigned = Self.unsigned(#"{"alg":"HS256"}"#, Self.claims()) + ".AA"
    #expect(code([("Authorization", "Bearer \(unsigned)")], beside: broken) == "AUTH0002")
  }

  private static func claims(_ more: String = "", customer: String = "42", exp: String = "1700000060") -> String {
    #"{"publisherId":7,"customerId":\#(customer),"exp":\#(exp)\#(more)}"#
  }

  // MARK: Publishers' tokens

  @Test func publisherToken() throws {
    let publishers = [Self.publisher(7, tokens: ["one", "two"]), Self.publisher(8, tokens: ["three"])]
    for (token, id) in [("one", PublisherId(7)), ("two", 7), ("three", 8)] {
      let caller = try caller([("x-publisher-token", token)], publishers)
      #expect(caller.publisher.id == id)
      #expect(caller.customerId == nil)
      #expect(caller.token?.name.hasPrefix("token-") == true)
      #expect(caller.mayActFor("1"))
    }
  }

  @Test(arguments: ["", "One", "one ", "onetwo", "four"]) func wrongPublisherToken(token: String) {
    for tokens in [["one"], []] {
      let problem = refusal([("X-Publisher-Token", token)], [Self.publisher(7, tokens: tokens)])
      #expect(
        problem?.code == "AUTH0002"
          && problem?.detail?.hasPrefix("X-Publisher-Token: is not a ") == true)
    }
  }

  @Test func `a publisher's token in the header for customers leads to its own header`() {
    let publishers = [Self.publisher(7, tokens: ["one"])]
    #expect(
      refusal([("Authorization", "Bearer one")], publishers)?.detail
        == "Authorization: this is a publisher's token. Send it in the header X-Publisher-Token.")
    for token in ["two", "one.one", "a.b.c"] {
      let detail = refusal([("Authorization", "Bearer \(token)")], publishers)?.detail
      #expect(detail?.contains("customer's token") == true, "\(token)")
    }
  }

  @Test func noCredential() {
    let problem = refusal([], [Self.publisher(7, tokens: ["one"])])
    #expect(problem == .missingCredential)
    #expect(problem?.status == 401)
    #expect(problem?.response.headers.contains { $0.name == "WWW-Authenticate" } == true)
  }

  @Test func twoCredentials() {
    let problem = refusal(
      [("X-Publisher-Token", "one"), ("Authorization", "Bearer \(Self.hs256(Self.claims()))")],
      [Self.publisher(7, tokens: ["one"], key: .hs256(Self.secret))])
    #expect(problem?.status == 400)
    #expect(problem?.code == "REQ0004")
  }

  @Test(arguments: ["", "Bearer", "Bearer ", "Basic b25lOg==", "Bearer a b", "one"])
  func otherAuthorization(value: String) {
    let problem = refusal([("Authorization", value)], [Self.publisher(7, tokens: ["one"])])
    #expect(problem?.code == "AUTH0002" && problem?.detail?.hasPrefix("Authorization: expected Bearer") == true)
  }

  // MARK: Good customer tokens

  @Test func hs256() throws {
    let caller = try bearer(Self.hs256(Self.claims())).get()
    #expect(caller.publisher.id == 7)
    #expect(caller.customerId == "42")
    #expect(caller.mayActFor("42"))
    #expect(!caller.mayActFor("43"))
  }

  @Test func schemeHasNoCapitals() throws {
    let publishers = [Self.publisher(7, key: .hs256(Self.secret))]
    let caller = try caller([("Authorization", "bEARER \(Self.hs256(Self.claims()))")], publishers)
    #expect(caller.customerId == "42")
  }

  @Test func es256() throws {
    let key = try P256PrivateKey.generate()
    let publishers = [Self.publisher(7, key: .es256(key.publicKey))]
    let signed = Self.unsigned(#"{"alg":"ES256"}"#, Self.claims())
    let token = signed + "." + Base64URL.encode(try key.signature(for: Array(signed.utf8)))
    #expect(try bearer(token, publishers).get().customerId == "42")
    #expect(isRefused(token, [Self.publisher(7, key: .es256(try P256PrivateKey.generate().publicKey))]))
  }

  @Test func rs256() throws {
    let publishers = [Self.publisher(7, key: .rs256(try RSAPublicKey(pem: Self.rsaPublic)))]
    #expect(try bearer(Self.rsaToken, publishers).get().customerId == "42")
    let parts = Self.rsaToken.split(separator: ".")
    let other = Base64URL.encode(Array(Self.claims(customer: "43").utf8))
    #expect(isRefused("\(parts[0]).\(other).\(parts[2])", publishers))
  }

  @Test func numbersAsTexts() throws {
    let token = Self.hs256(#"{"publisherId":"7","customerId":"42","exp":1700000060.5}"#)
    #expect(try bearer(token).get().customerId == "42")
  }

  /// Ids are compared by their bytes: `042` is no other spelling of 42, and two forms of `é` are two customers.
  @Test(arguments: ["x", "4 2", "042", "-7", "9223372036854775808", "\u{E9}", "a|b"])
  func `a customer's id is a text`(id: String) throws {
    let caller = try bearer(Self.hs256(Self.claims(customer: "\"\(id)\""))).get()
    #expect(caller.customerId == CustomerId(id))
    #expect(caller.mayActFor(CustomerId(id)))
    for other in ["42", "-42", "e\u{301}", id + " "] { #expect(!caller.mayActFor(CustomerId(other))) }
  }

  @Test func otherClaimName() throws {
    let publishers = [Self.publisher(7, key: .hs256(Self.secret), claim: "sub")]
    #expect(try bearer(Self.hs256(Self.claims(#","sub":"5""#)), publishers).get().customerId == "5")
    #expect(isRefused(Self.hs256(Self.claims()), publishers))
  }

  // MARK: Times

  @Test func expiry() throws {
    #expect(try bearer(Self.hs256(Self.claims(exp: "1699999971"))).get().customerId == "42")
    #expect(isRefused(Self.hs256(Self.claims(exp: "1699999970"))))
    #expect(isRefused(Self.hs256(Self.claims(exp: "0"))))
    #expect(isRefused(Self.hs256(Self.claims(exp: "-1"))))
  }

  @Test(arguments: ["null", "true", "\"soon\"", "[]", "{}", "1e400"]) func expiryThatIsNone(exp: String) {
    #expect(isRefused(Self.hs256(Self.claims(exp: exp))))
  }

  @Test func missingExpiry() {
    #expect(isRefused(Self.hs256(#"{"publisherId":7,"customerId":42}"#)))
  }

  /// A publisher may sign any claims; it must not be able to stop the gateway with them.
  @Test
  func expiryAtTheEndOfTheNumbers() async {
    await #expect(processExitsWith: .success) {
      for exp in ["9223372036854775807", "9223372036854775777", "-9223372036854775808"] {
        let tests = AuthenticatorTests()
        _ = tests.bearer(Self.hs256(Self.claims(exp: exp)))
      }
    }
  }

  @Test func notBefore() throws {
    #expect(try bearer(Self.hs256(Self.claims(#","nbf":1700000030"#))).get().customerId == "42")
    #expect(isRefused(Self.hs256(Self.claims(#","nbf":1700000031"#))))
    #expect(isRefused(Self.hs256(Self.claims(#","nbf":"tomorrow""#))))
    #expect(isRefused(Self.hs256(Self.claims(#","nbf":9223372036854775807"#))))
  }

  // MARK: Algorithms and keys

  @Test(arguments: ["none", "None", "hs256", "HS384", "HS512", "RS256", "ES256", ""]) func otherAlgorithm(alg: String) {
    #expect(isRefused(Self.hs256(Self.claims(), header: #"{"alg":"\#(alg)"}"#)))
    #expect(isRefused(Self.unsigned(#"{"alg":"\#(alg)"}"#, Self.claims()) + "."))
  }

  /// The old attack: a public key, which everybody has, serves as the secret of an HMAC.
  @Test func publicKeyAsHMACSecret() throws {
    let ec = try P256PrivateKey.generate().publicKey
    for (key, pem) in [
      (Key.rs256(try RSAPublicKey(pem: Self.rsaPublic)), Self.rsaPublic), (.es256(ec), ec.pem),
    ] {
      let publishers = [Self.publisher(7, key: key)]
      for secret in [pem, pem + "\n", String(pem.split(separator: "\n").joined())] {
        #expect(isRefused(Self.hs256(Self.claims(), key: Array(secret.utf8)), publishers))
        let header = #"{"alg":"\#(key.algorithm)"}"#
        #expect(isRefused(Self.hs256(Self.claims(), header: header, key: Array(secret.utf8)), publishers))
      }
    }
  }

  @Test func keyIsThePublishersOwn() {
    let others = [
      Self.publisher(7, key: .hs256(Array(Self.secret.reversed()))), Self.publisher(8, key: .hs256(Self.secret)),
    ]
    #expect(isRefused(Self.hs256(Self.claims()), others))
    #expect(isRefused(Self.hs256(Self.claims(), key: [])))
  }

  @Test func criticalExtensions() {
    #expect(isRefused(Self.hs256(Self.claims(), header: #"{"alg":"HS256","crit":["exp"],"exp":1}"#)))
    #expect(isRefused(Self.hs256(Self.claims(), header: #"{"alg":"HS256","crit":[]}"#)))
    #expect(isRefused(Self.hs256(Self.claims(), header: #"{"alg":"HS256","crit":"exp"}"#)))
  }

  // MARK: Claims

  @Test(arguments: ["9", "-7", "\"x\"", "null", "[7]"]) func unknownPublisher(id: String) {
    #expect(isRefused(Self.hs256(#"{"publisherId":\#(id),"customerId":42,"exp":1700000060}"#)))
  }

  @Test func publisherWithoutCustomerTokens() {
    #expect(isRefused(Self.hs256(#"{"publisherId":8,"customerId":42,"exp":1700000060}"#)))
    #expect(isRefused(Self.hs256(#"{"customerId":42,"exp":1700000060}"#)))
  }

  @Test(arguments: ["null", "true", "\"\"", "\"\\n\"", "0", "-1", "[42]", "{}", "9223372036854775808", "1e30"])
  func wrongCustomerClaim(customer: String) {
    #expect(isRefused(Self.hs256(Self.claims(customer: customer))))
  }

  /// An id is a whole number. A fraction names no customer, and must not round to one.
  @Test
  func fractionsOfIds() {
    #expect(isRefused(Self.hs256(Self.claims(customer: "42.9"))))
    #expect(isRefused(Self.hs256(#"{"publisherId":7.5,"customerId":42,"exp":1700000060}"#)))
  }

  // MARK: What a refusal says

  private func detail(_ token: String) -> String? {
    if case .failure(let problem) = bearer(token) { problem.detail } else { nil }
  }

  @Test func whoSignsIsToldWhatIsWrong() {
    #expect(
      detail(Self.hs256(Self.claims(exp: "1699999970")))
        == "exp: the customer's token expired at 1699999970, and now is 1700000000; send a new one.")
    for (token, member) in [
      (Self.hs256(#"{"publisherId":7,"customerId":42}"#), "exp: "), (Self.hs256(Self.claims(exp: "null")), "exp: "),
      (Self.hs256(Self.claims(#","nbf":1700000031"#)), "nbf: "),
      (Self.hs256(Self.claims(customer: "\"\"")), "customerId: "),
      ("a.b", "The customer's token is not a JWT: "),
    ] {
      #expect(detail(token)?.hasPrefix(member) == true, "\(member)")
    }
  }

  // MARK: Malformed

  @Test func malformed() {
    let good = Self.hs256(Self.claims())
    let parts = good.split(separator: ".").map(String.init)
    #expect(isRefused(parts[0] + "." + parts[1]))
    #expect(isRefused(good + "."))
    #expect(isRefused(good + ".x"))
    #expect(isRefused(good + "="))
    #expect(isRefused(good.dropLast(4) + ""))
    #expect(isRefused("." + parts[1] + "." + parts[2]))
    #expect(isRefused(parts[0] + ".." + parts[2]))
    #expect(isRefused(parts[0] + "." + parts[1] + "."))
    #expect(isRefused("..."))
    #expect(isRefused(Self.hs256("[]")))
    #expect(isRefused(Self.hs256("no json")))
    #expect(isRefused(Self.hs256(Self.claims(), header: "{}")))
    #expect(isRefused(Self.hs256(Self.claims(), header: #"{"alg":1}"#)))
  }

  @Test func nestedDeeply() {
    let nested = String(repeating: "[", count: 2900)
    #expect(isRefused(Self.hs256(nested)))
    #expect(isRefused(Self.hs256(Self.claims(), header: nested)))
    #expect(isRefused(Self.hs256(#"{"publisherId":"# + nested)))
  }

  @Test func tooLong() throws {
    func token(_ filler: Int) -> String {
      Self.hs256(Self.claims(#","filler":"\#(String(repeating: "x", count: filler))""#))
    }
    #expect(token(5900).utf8.count < 8192)
    #expect(try bearer(token(5900)).get().customerId == "42")
    #expect(token(6200).utf8.count > 8192)
    #expect(isRefused(token(6200)))
  }

  @Test func everyChangedCharacterIsNoticed() {
    let good = Array(Self.hs256(Self.claims()).utf8)
    for index in good.indices where good[index] != UInt8(ascii: ".") {
      var changed = good
      changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(isRefused(String(decoding: changed, as: UTF8.self)))
    }
  }

  /// The test data was made without keeping the private half.
  private static let rsaPublic = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsUEKVIFBj1aWYhzaJj4C
    ah2ggzCG0ux1Nm2Zz8wfzqSeiNs+NF4rA6pd3U4CntQ30/0+kUEJFwMJHgftGuYR
    SnCT1jVUkEzcOsT+WK+0RTquCOKlq2t7Fo8EBFdMv9MZvDOfmZ578RlATu1/jU6W
    0uxyVlgsiV0kdwROnCahgbSJSeugflVjwgNnznJMxpIFvSgJjkcYkW8yYyD2bbSr
    yuQec7MYIujyN0zTrdZN/JGo5auqMjuRMEcVnjCIPUNmZ+rMfpeYoc7vB/3TSR4x
    71XL9uu3vk3retlGrXU2swcJKhiRzQ3g5xwy4gy6shVjzlRnIWdW0h7K+rpzeEyY
    QQIDAQAB
    -----END PUBLIC KEY-----
    """

  /// `{"publisherId":7,"customerId":42,"exp":1700000060}`
  private static let rsaToken = """
    eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJwdWJsaXNoZXJJZCI6NywiY3VzdG9tZXJJZCI6NDIsImV4cCI6MTcwMDAwMDA\
    2MH0.Vy3QZ_gaLdYkoOfz7DlocFZrCzdNWbZ_yEGB_MeFvg3VpbtypQzqh1xUGy9qevPKyqP-dWvDyr_8i2XGEJLl3ZpzULwUVVT\
    ErDKDidbfwPSUlRcpICOOWyKFZjrSLhygoY1ZhsfdCA5LwHFQkWUXJUEXjFtEy-mf5tQ8epBApROBn38Ft645VJgXZFS3G3Wc65b\
    54Pf-51okFUU3PlNXYwCpwpkzTqAEPcaOTfCOjyxY44kgH08jZrflUWU8woH1RNB3qXhpaIrv76i7o74lbegVGpKIigsLSGUWQMJ\
    KT6WtcfpqT6vWt9O2M5hLVpumobbbt3yhV8gjj5Bi7UgIlA
    """

  // MARK: Names that only look alike, and repeated members

  @Test func `a claim's name is its bytes`() {
    let publishers = [Self.publisher(7, key: .hs256(Self.secret), claim: "Kunde")]
    func customer(_ claims: String) -> CustomerId? {
      guard case .success(let caller) = bearer(Self.hs256(claims), publishers) else { return nil }
      return caller.customerId
    }
    let rest = #""publisherId":7,"exp":1700000060"#
    #expect(customer("{\(rest),\"Kunde\":42}") == "42")
    #expect(customer("{\(rest),\"\u{212A}unde\":42}") == nil)
    #expect(customer("{\(rest),\"\u{212A}unde\":41,\"Kunde\":42}") == "42")
  }

  /// Another reader of the same token might take the other member.
  @Test(arguments: [#","customerId":43"#, #","customer\u0049d":42"#, #","exp":1700000060"#, #","x":{"y":1,"y":2}"#])
  func `a token with the same claim twice is refused`(more: String) {
    #expect(isRefused(Self.hs256(Self.claims(more))))
  }

  @Test func `a token with the same member twice in its header is refused`() {
    #expect(isRefused(Self.hs256(Self.claims(), header: #"{"alg":"HS256","typ":"JWT","alg":"HS256"}"#)))
  }
}

import Configuration
import Crypto
import Domain
import HTTP
import HTTPServer
import RoleSupport
import Testing

@testable import Console

/// The way to the provider and back, by value.
struct OpenIDAttemptTests {
  private static let secret = String(repeating: "s", count: 43)
  private static let attempt = OpenIDAttempt(secret: secret, startedAt: 1000, next: "/customers/7/42?x=ä")
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func settings() throws -> OpenIDSettings {
    let settings = try folder.settings(
      """
      {"console": {"publicUrl": "https://c.example/c", "openId": {
        "issuer": "https://id.example/realm", "clientId": "console:1", "rolesFile": "roles"}}}
      """)
    return try #require(settings.console.openID)
  }

  private static func description(_ more: String = "", issuer: String = "https://id.example/realm") -> String {
    """
    {"issuer": "\(issuer)", "authorization_endpoint": "https://id.example/a?x=1", "token_endpoint": "https://id.example/t",
     "jwks_uri": "https://keys.example/k"\(more)}
    """
  }

  private static func read(_ text: String, of issuer: String = "https://id.example/realm") throws -> ProviderDescription
  {
    try ProviderDescription(Array(text.utf8), of: issuer)
  }

  @Test func `a cookie has an attempt`() throws {
    #expect(OpenIDAttempt(cookie: Self.attempt.cookie) == Self.attempt)
    let empty = OpenIDAttempt(secret: Self.secret, startedAt: 0, next: "")
    #expect(OpenIDAttempt(cookie: empty.cookie) == empty)
    // Whatever somebody puts into an address, the cookie has room.
    let long = OpenIDAttempt(secret: Self.secret, startedAt: 0, next: "/" + String(repeating: "a", count: 5000))
    #expect(long.next == "" && long.cookie.utf8.count < 4096)
    for text in [
      "", "1000", "1000.s.", "x.\(Self.secret).", "1000.\(Self.secret)", "1000.\(Self.secret)..",
      "1000.\(Self.secret).=",
      "1000.\(Self.secret).\(Base64URL.encode([0xff]))",
    ] {
      #expect(OpenIDAttempt(cookie: text) == nil, "\(text)")
    }
  }

  @Test func `each part is another one, and tells nothing of the secret`() {
    let parts = [Self.attempt.state, Self.attempt.nonce, Self.attempt.verifier, Self.attempt.challenge]
    #expect(Set(parts).count == 4 && parts.allSatisfy { $0.utf8.count == 43 && !$0.contains(Self.secret) })
    #expect(Self.attempt.challenge == Base64URL.encode(SHA256.hash(Array(Self.attempt.verifier.utf8))))
    // An old cookie with a new time is another attempt.
    let later = OpenIDAttempt(secret: Self.secret, startedAt: 1001, next: Self.attempt.next)
    #expect(later.state != Self.attempt.state && later.nonce != Self.attempt.nonce)
  }

  @Test(arguments: [
    (1000, true), (999, false), (600_999, true), (601_000, false), (Int64.min, false), (Int64.max, false),
  ])
  func `an attempt lasts ten minutes`(now: Int64, isAlive: Bool) { #expect(Self.attempt.isAlive(at: now) == isAlive) }

  @Test func `its cookie is short-lived and not the session's`() {
    let cookie = SessionCookie(isSecure: true, prefix: "/c").ofAttempt
    #expect(
      cookie.header("v", for: OpenIDAttempt.lifetime)
        == "__Host-countersign-openid=v; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600")
    #expect(cookie.header(nil) == "__Host-countersign-openid=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0")
    let request = HTTPServerRequest(
      method: "GET", path: [], headers: [("Cookie", "__Host-countersign-openid=\(Self.attempt.cookie)")])
    #expect(cookie.value(of: request) == Self.attempt.cookie)
    #expect(SessionCookie(isSecure: true, prefix: "/c").token(of: request) == nil)
  }

  @Test func `a browser goes to the provider with all that binds it`() throws {
    let address = try Self.read(Self.description()).address(for: Self.attempt, settings())
    #expect(
      address
        == "https://id.example/a?x=1&response_type=code&client_id=console%3A1"
        + "&redirect_uri=https%3A%2F%2Fc.example%2Fc%2Fsign-in%2Fopenid%2Freturn&scope=openid%20email"
        + "&state=\(Self.attempt.state)&nonce=\(Self.attempt.nonce)&code_challenge=\(Self.attempt.challenge)"
        + "&code_challenge_method=S256")
    #expect(!address.contains(Self.attempt.verifier))
  }

  @Test func `a browser brings back what belongs to its attempt`() throws {
    let state = (name: "state", value: Self.attempt.state)
    func returned(_ query: [(name: String, value: String)]) -> OpenIDReturn? { OpenIDReturn(query, to: Self.attempt) }
    #expect(returned([state, ("code", "c")])?.code == "c")
    let denied = try #require(returned([state, ("error", "access_denied"), ("error_description", "<b>")]))
    #expect(denied.code == nil && denied.error == "access_denied")
    #expect(try #require(returned([state, ("error", "<b>")])).error == nil)
    let long = String(repeating: "c", count: 4097)
    for query in [
      [], [("code", "c")], [("state", "other"), ("code", "c")], [state], [state, ("code", "")],
      [state, ("code", long)],
      [state, ("code", "a"), ("code", "b")], [state, state, ("code", "c")], [state, ("code", "c"), ("error", "e")],
      [state, ("code", "c"), ("iss", "a"), ("iss", "b")],
    ] as [[(name: String, value: String)]] {
      #expect(returned(query) == nil, "\(query)")
    }
    let plain = try #require(returned([state, ("code", "c")]))
    #expect(plain.isFrom("https://id.example", always: false) && !plain.isFrom("https://id.example", always: true))
    let named = try #require(returned([state, ("code", "c"), ("iss", "https://id.example")]))
    #expect(named.isFrom("https://id.example", always: true) && !named.isFrom("https://other.example", always: false))
  }

  // MARK: The provider's description

  @Test func `a description has places and ways`() throws {
    let plain = try Self.read(Self.description())
    #expect(plain.tokenURL == "https://id.example/t" && plain.keySetURL == "https://keys.example/k")
    #expect(plain.secretIn == .header && plain.algorithms == ["RS256"] && !plain.namesItself)
    let form = try Self.read(
      Self.description(
        #","token_endpoint_auth_methods_supported":["private_key_jwt","client_secret_post"],"#
          + #""id_token_signing_alg_values_supported":["ES256"],"authorization_response_iss_parameter_supported":true,"#
          + #""code_challenge_methods_supported":["plain","S256"]"#))
    #expect(form.secretIn == .form && form.algorithms == ["ES256"] && form.namesItself)
    #expect(ProviderDescription.url(of: "https://a/") == "https://a/.well-known/openid-configuration")
    #expect(ProviderDescription.url(of: "https://a/b") == "https://a/b/.well-known/openid-configuration")
  }

  @Test(arguments: [
    ("", "it is not a JSON object"), ("[]", "it is not a JSON object"), ("<html>", "it is not a JSON object"),
    (description(issuer: "https://id.example/realm/"), "its issuer is not exactly https://id.example/realm"),
    (
      description(#","issuer2":1"#).replacing("https://id.example/t", with: "http://id.example/t"),
      "its token_endpoint is not an https:// URL"
    ),
    (
      description().replacing("https://id.example/a?x=1", with: "javascript:alert(1)"),
      "its authorization_endpoint is not an https:// URL"
    ),
    (
      description().replacing("https://keys.example/k", with: "https://u:p@keys.example/k"),
      "its jwks_uri is not an https:// URL"
    ),
    (
      description().replacing("https://id.example/t", with: "http://127.0.0.1/t"),
      "its token_endpoint is not an https:// URL"
    ),
    (
      description().replacing("https://id.example/a?x=1", with: "https://a/\\r\\nX: y"),
      "its authorization_endpoint is not an https:// URL"
    ),
    (description(#","code_challenge_methods_supported":["plain"]"#), "it does not take PKCE with S256"),
    (
      description(#","id_token_signing_alg_values_supported":["HS256","none"]"#),
      "it signs id tokens with none of RS256, ES256, EdDSA, Ed25519"
    ),
    (
      description(#","id_token_signing_alg_values_supported":1"#),
      "its id_token_signing_alg_values_supported is not a list of texts"
    ),
  ])
  func `another description is of no use`(text: String, cause: String) {
    #expect(throws: ProviderDescription.Unusable(cause)) { try Self.read(text) }
  }

  /// A provider on this machine, such as a test's.
  @Test func `what the issuer does not protect need not be protected`() throws {
    let text = Self.description(issuer: "http://127.0.0.1:1").replacing("https://", with: "http://localhost:1/")
    #expect(try Self.read(text, of: "http://127.0.0.1:1").tokenURL == "http://localhost:1/id.example/t")
    for url in [
      "http://10.0.0.1/x", "http://localhost.example/x", "http://127.0.0.1.example/x", "ftp://127.0.0.1/x", "x",
    ] {
      #expect(!OpenIDSettings.isUsable(url), "\(url)")
    }
    for url in ["http://[::1]:1/x", "http://localhost", "https://id.example"] { #expect(OpenIDSettings.isUsable(url)) }
  }

  // MARK: The token

  private func request(_ place: String = "client_secret_basic", secret: String? = "a b:c") throws -> HTTPClientRequest {
    let description = try Self.read(Self.description(#","token_endpoint_auth_methods_supported":["\#(place)"]"#))
    return TokenExchange.request("c&d", Self.attempt, description, try settings(), secret)
  }

  @Test func `a code is redeemed with the verifier and the secret`() throws {
    let fields =
      "grant_type=authorization_code&code=c%26d&redirect_uri=https%3A%2F%2Fc.example%2Fc%2Fsign-in%2Fopenid%2Freturn"
      + "&code_verifier=\(Self.attempt.verifier)"
    let header = try request()
    #expect(header.method == "POST" && header.url == "https://id.example/t" && header.timeout == .seconds(5))
    #expect(header.maxResponseBytes == TokenExchange.mostBytes)
    #expect(String(decoding: header.body ?? [], as: UTF8.self) == fields)
    let basic = header.headers.first { $0.name == "Authorization" }?.value
    #expect(basic == "Basic " + Base64.encode(Array("console%3A1:a%20b%3Ac".utf8)))
    let form = try request("client_secret_post")
    #expect(!form.headers.contains { $0.name == "Authorization" })
    #expect(
      String(decoding: form.body ?? [], as: UTF8.self) == fields + "&client_id=console%3A1&client_secret=a%20b%3Ac")
    let open = try request(secret: nil)
    #expect(!open.headers.contains { $0.name == "Authorization" })
    #expect(String(decoding: open.body ?? [], as: UTF8.self) == fields + "&client_id=console%3A1")
  }

  @Test(arguments: [
    (200, #"{"id_token":"a.b.c","access_token":"x"}"#, TokenExchange.Answer.token("a.b.c")),
    (200, #"{"access_token":"x"}"#, .failed("HTTP 200 without an id_token")),
    (200, #"{"id_token":1}"#, .failed("HTTP 200 without an id_token")),
    (200, "", .failed("HTTP 200 without an id_token")),
    (400, #"{"error":"invalid_grant"}"#, .codeRefused),
    (400, #"{"error":"invalid_request"}"#, .failed("HTTP 400, error invalid_request")),
    (401, #"{"error":"invalid_client"}"#, .failed("HTTP 401, error invalid_client")),
    (401, #"{"error":"invalid_grant"}"#, .failed("HTTP 401, error invalid_grant")),
    (400, #"{"error":"a b"}"#, .failed("HTTP 400")), (302, "", .failed("HTTP 302")),
    (500, "<html>", .failed("HTTP 500")),
  ])
  func `an answer has a token or a cause`(status: Int, body: String, answer: TokenExchange.Answer) {
    #expect(TokenExchange.answer(HTTPClientResponse(status: status, body: Array(body.utf8))) == answer)
  }

  // MARK: The page

  @Test func `the page shows the ways that there are`() {
    let both = SignInPage(prefix: "/c", next: "/c/find?q=a&b", provider: "id.example").html
    #expect(both.contains("Sign in with id.example") && both.contains("name=\"password\""))
    #expect(both.contains("href=\"/c/sign-in/openid?next=%2Fc%2Ffind%3Fq%3Da%26b\""))
    let one = SignInPage(prefix: "", takesPasswords: false, provider: "id.example").html
    #expect(one.contains("href=\"/sign-in/openid\"") && !one.contains("<form"))
    #expect(!SignInPage(prefix: "").html.contains("openid"))
  }
}

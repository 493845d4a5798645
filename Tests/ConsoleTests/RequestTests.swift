import Configuration
import Domain
import HTTPServer
import Testing

@testable import Console

/// What a request may ask for, and from where.
struct RequestTests {
  @Test(
    arguments: [
      (["Sec-Fetch-Site": "same-origin"], nil, true), (["Sec-Fetch-Site": "same-site"], nil, false),
      (["Sec-Fetch-Site": "cross-site"], nil, false), (["Sec-Fetch-Site": "none"], nil, false), ([:], nil, false),
      (["Origin": "http://here:1", "Host": "here:1"], nil, true),
      (["Origin": "http://there:1", "Host": "here:1"], nil, false), (["Origin": "null", "Host": "here:1"], nil, false),
      (["Origin": "http://here:1"], nil, false),
      (["Sec-Fetch-Site": "same-origin", "Origin": "http://there", "Host": "here"], nil, false),
      (["Origin": "https://c.example", "Host": "inside:8090"], "https://c.example", true),
      (["Origin": "http://inside:8090", "Host": "inside:8090"], "https://c.example", false),
    ] as [([String: String], String?, Bool)])
  func `only a page of the console posts`(headers: [String: String], own: String?, admitted: Bool) {
    let request = HTTPServerRequest(
      method: "POST", path: ["sign-in"], headers: headers.map { (name: $0.key, value: $0.value) })
    #expect(SameOrigin.admits(request, own: own) == admitted)
  }

  @Test(
    arguments: [
      ([], .page(.find, isJSON: false)), (["find"], .page(.find, isJSON: false)),
      (["find.json"], .page(.find, isJSON: true)),
      (["customers", "7", "a/b.json"], .page(.customer(CustomerKey(publisherId: 7, id: "a/b.json")), isJSON: false)),
      (["customers.json", "7", "42"], .page(.customer(CustomerKey(publisherId: 7, id: "42")), isJSON: true)),
      (["customers", "x", "42"], nil), (["customers", "7"], nil), (["customers", "7", ""], nil),
      (["purchases", "7", "Production"], nil), (["sign-in.json"], nil), (["sign-out"], .signOut), (["other"], nil),
      (["sign-in", "openid"], .openID), (["sign-in", "openid", "return"], .openIDReturn), (["sign-in", "other"], nil),
      (["sign-in.json", "openid"], nil), (["sign-in", "openid", "other"], nil),
      (["customers", "7", "~.."], .page(.customer(CustomerKey(publisherId: 7, id: "..")), isJSON: false)),
      (["customers", "7", "~~a"], .page(.customer(CustomerKey(publisherId: 7, id: "~a")), isJSON: false)),
      (["customers", "7", "a\u{0}"], nil), (["purchases", "7", "Production", "1\u{0}"], nil),
      (["purchases", "7", "\u{0}", "1"], nil), (["style.css.json"], nil),
      (["refresh.js"], .script), (["refresh.js.json"], nil), (["refresh.js", "x"], nil),
      (["customers", "7", "42", "grants"], .action(.give(CustomerKey(publisherId: 7, id: "42")))),
      (
        ["customers", "7", "42", "grants", "0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10", "withdraw"],
        .action(.withdraw("0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10", CustomerKey(publisherId: 7, id: "42")))
      ), (["customers", "7", "42", "grants", "x", "withdraw"], nil),
      (["customers", "7", "42", "sandbox"], .action(.allowSandbox(CustomerKey(publisherId: 7, id: "42")))),
      (
        ["customers", "7", "42", "sandbox", "withdraw"],
        .action(.withdrawSandbox(CustomerKey(publisherId: 7, id: "42")))
      ), (["customers", "7", "42", "sandbox", "x"], nil), (["customers.json", "7", "42", "sandbox"], nil),
      (["customers.json", "7", "42", "grants"], nil),
      (["customers", "7", "42", "grants", "withdraw"], nil), (["customers", "7", "42", "other"], nil),
      (["orders"], .order), (["orders.json"], nil), (["orders", "M1"], nil),
      (["customers", "7", "42", "notes"], .action(.note(CustomerKey(publisherId: 7, id: "42")))),
      (["customers.json", "7", "42", "notes"], nil),
      (["customers", "7", "42", "export"], .action(.export(CustomerKey(publisherId: 7, id: "42")))),
      (["customers", "7", "42", "erase"], .action(.erase(CustomerKey(publisherId: 7, id: "42")))),
      (["customers.json", "7", "42", "export"], nil),
      (
        ["purchases", "7", "Production", "1", "release"],
        .action(
          .release(PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "1")))
      ), (["purchases", "7", "Production", "1", "other"], nil),
      (
        ["purchases", "7", "Production", "1", "transfer"],
        .action(
          .transfer(PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "1")))
      ),
      (
        ["purchases", "7", "Sandbox", "1", "check"],
        .action(
          .check(PurchaseKey(publisherId: 7, environment: "Sandbox", originalTransactionId: "1")))
      ), (["purchases.json", "7", "Production", "1", "transfer"], nil),
      (["purchases.json", "7", "Production", "1", "release"], nil),
      (["endpoints"], .page(.list(.endpoints), isJSON: false)),
      (["notifications.json"], .page(.list(.notifications), isJSON: true)),
      (["synchronizations"], .page(.list(.synchronizations), isJSON: false)),
      (["endpoints", "7"], nil), (["endpoints", "7", ""], nil), (["endpoints", "x", "ep"], nil),
      (["endpoints.json", "7", "ep"], .page(.endpoint(EndpointKey(publisherId: 7, id: "ep")), isJSON: true)),
      (["endpoints", "7", "ep", "recover"], .action(.recover(EndpointKey(publisherId: 7, id: "ep")))),
      (["endpoints.json", "7", "ep", "recover"], nil), (["endpoints", "7", "ep", "delete"], nil),
      (
        ["endpoints", "7", "ep", "disable"],
        .action(.endpoint(.disable, EndpointKey(publisherId: 7, id: "ep")))
      ),
      (["endpoints", "7", "ep", "rotate"], .action(.endpoint(.rotate, EndpointKey(publisherId: 7, id: "ep")))),
      (["endpoints.json", "7", "ep", "test"], nil),
      (["events", "7", "evt"], .page(.event(EventKey(publisherId: 7, id: "evt")), isJSON: false)),
      (
        ["events", "7", "evt", "ep", "resend"],
        .action(.resend(EventKey(publisherId: 7, id: "evt"), to: "ep"))
      ), (["events.json", "7", "evt", "ep", "resend"], nil), (["events", "7", "evt", "resend"], nil),
      (["events", "7", String(repeating: "e", count: 513)], nil), (["events", "7", "evt", "ep", "other"], nil),
      (
        ["notifications", "7", "u"],
        .page(.notification(NotificationKey(publisherId: 7, uuid: "u")), isJSON: false)
      ), (["notifications", "7", "u", "retry"], nil),
      (
        ["synchronizations.json", "7", "s/1"],
        .page(.synchronization(SynchronizationsKey(publisherId: 7, id: "s/1")), isJSON: true)
      ),
      (
        ["synchronizations", "7", "s", "retry"], .action(.retry(SynchronizationsKey(publisherId: 7, id: "s")))
      ), (["synchronizations.json", "7", "s", "retry"], nil), (["synchronizations", "retry"], .action(.retryAll)),
      (["synchronizations.json", "retry"], nil), (["synchronizations", "7"], nil),
      (["notifications", "test"], .action(.testNotification)),
      (["notifications", "tested"], .page(.testNotification, isJSON: false)), (["notifications.json", "test"], nil),
      (["dead", "retry"], .action(.dead(.retry))), (["dead", "drop"], .action(.dead(.drop))),
      (["dead", "erase"], nil), (["dead.json", "drop"], nil), (["play"], .page(.play, isJSON: false)),
      (["play.json"], nil), (["play", "start"], .action(.startLife)), (["play", "7"], nil),
      (["play", "x", "1"], nil), (["play", "7", ""], nil),
      (
        ["play", "7", "2000"],
        .page(
          .life(PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: "2000")), isJSON: false)
      ),
      (
        ["play", "7", "2000", "end-grace"],
        .action(
          .apply(
            .endGrace, PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: "2000")))
      ), (["play", "7", "2000", "steal"], nil), (["play", "7", "2000", "renew", "more"], nil),
    ] as [([String], ConsoleRoute?)])
  func `a path has one route`(path: [String], route: ConsoleRoute?) { #expect(ConsoleRoute(path) == route) }

  @Test func `what changes something is posted`() throws {
    let (customer, purchase) = (["customers", "7", "42"], ["purchases", "7", "Production", "1"])
    let actions =
      ["grants", "sandbox", "notes", "export", "erase"].map { customer + [$0] }
      + ["release", "transfer", "check"].map { purchase + [$0] }
    let traffic = [
      ["events", "7", "evt", "ep", "resend"], ["endpoints", "7", "ep", "recover"],
      ["synchronizations", "7", "s", "retry"], ["endpoints", "7", "ep", "enable"], ["endpoints", "7", "ep", "rotate"],
    ]
    let more = [
      ["synchronizations", "retry"], ["dead", "retry"], ["dead", "drop"], ["play", "start"],
      ["play", "7", "2000", "renew"],
    ]
    for path in actions + traffic + more + [["orders"], ["sign-out"]] {
      #expect(try #require(ConsoleRoute(path)).methods == ["POST"])
    }
    for path in [[], ["customers", "7", "42"], ["style.css"], ["refresh.js"]] {
      #expect(try #require(ConsoleRoute(path)).methods == ["GET", "HEAD"])
    }
  }

  @Test(arguments: [
    ("/customers/7/42", "", "/customers/7/42"), ("//evil.example", "", "/"), ("https://evil.example", "", "/"),
    ("/\\evil.example", "", "/"), ("", "/c", "/c/"), ("/other", "/c", "/c/"), ("/c/find?q=1", "/c", "/c/find?q=1"),
    ("/a\r\nX: y", "", "/"),
  ])
  func `the way on stays in the console`(next: String, prefix: String, address: String) {
    #expect(ConsoleAPI.destination(next, prefix) == address)
  }

  @Test(arguments: [
    ("https://c.example", "https://c.example", ""), ("https://c.example/a/b", "https://c.example", "/a/b"),
    ("http://127.0.0.1:8090", "http://127.0.0.1:8090", ""),
    // A browser leaves out the scheme's own port.
    ("https://c.example:443", "https://c.example", ""), ("http://c.example:80/a", "http://c.example", "/a"),
    ("https://c.example:80", "https://c.example:80", ""), ("http://c.example:443", "http://c.example:443", ""),
  ])
  func `a public URL has parts`(url: String, origin: String, path: String) throws {
    let parts = try #require(ConsoleSettings.parts(of: url))
    #expect(parts.origin == origin && parts.path == path)
  }

  @Test(arguments: [
    "c.example", "https://", "https://c.example/", "https://c.example/a b", "ftp://x", "https://a//b",
    "https://a:", "https://a:0", "https://a:0443", "https://a:65536", "https://a:b", "https://a:1:2", "https://:443",
  ])
  func `other URLs are refused`(url: String) { #expect(ConsoleSettings.parts(of: url) == nil) }

  @Test func `a form has fields`() throws {
    let form = try #require(FormBody(Array("name=a%2Bb+c&password=%26&name=z&next=".utf8)))
    #expect(form["name"] == "a+b c" && form["password"] == "&" && form["next"] == "" && form["other"] == nil)
    #expect(FormBody(Array("name=%zz".utf8)) == nil && FormBody(Array("name".utf8)) == nil)
    #expect(FormBody([0xff, 0x3d]) == nil)
  }

  @Test func `the cookie is bound to TLS where there is TLS`() {
    let token = String(repeating: "t", count: 43)
    let (secure, plain) = (SessionCookie(isSecure: true, prefix: "/c"), SessionCookie(isSecure: false, prefix: "/c"))
    #expect(secure.header(token) == "__Host-countersign=\(token); Path=/; HttpOnly; SameSite=Lax; Secure")
    #expect(plain.header(nil) == "countersign=; Path=/c; HttpOnly; SameSite=Lax; Max-Age=0")
    let request = HTTPServerRequest(
      method: "GET", path: [], headers: [("Cookie", "a=b; countersign=\(token)"), ("cookie", "countersign=short")])
    #expect(plain.token(of: request) == token && secure.token(of: request) == nil)
  }
}

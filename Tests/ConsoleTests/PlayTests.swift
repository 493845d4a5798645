import Crypto
import Domain
import DomainSupport
import Formats
import Testing

@testable import Console

/// *Play a life*: what the simulator answers, and what a person may let happen.
struct PlayTests {
  private static let evil = "<script>alert('x')</script>\"&"

  private static func life(
    _ state: String = "active", id: String = "2000", product: String = "monthly", more: String = ""
  ) -> PlayedLife? {
    let row = #"{"transactionId":"2000","purchaseDate":1,"expiresDate":2},{"transactionId":1},7"#
    return PlayedLife(
      Array(
        (#"{"originalTransactionId":"\#(id)","state":"\#(state)","hasAccess":true,"bundleId":"com.example","productId":"\#(product)","#
          + #""transactions":[\#(row)]\#(more)}"#).utf8))
  }

  private static func view(_ role: ConsoleRole = .support) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: AnsweredPurchases.now, playsLives: true)
  }

  @Test func `an answer of the simulator is read`() throws {
    let life = try #require(
      Self.life("grace", more: #","accessUntil":1764000000000,"willRenew":true,"due":1764000000001"#))
    #expect(life.id == "2000" && life.state == .grace && life.hasAccess && life.willRenew == true)
    #expect(life.accessUntil == 1_764_000_000_000 && life.due == 1_764_000_000_001)
    #expect(life.transactions.map(\.id) == ["2000"] && life.transactions[0].expiresAt == 2)
    // A time that no calendar has would end up on the page.
    let far = try #require(Self.life("active", more: #","accessUntil":9223372036854775807,"due":-9223372036854775808"#))
    #expect(far.accessUntil == nil && far.due == nil)
  }

  @Test(arguments: ["", "{", "[]", "{}", #"{"originalTransactionId":"1","state":"other"}"#])
  func `what is no life is none`(text: String) {
    #expect(PlayedLife(Array(text.utf8)) == nil)
    #expect(Self.life("born") == nil)
  }

  @Test(
    arguments: [
      ("active", #","willRenew":true"#, [.renew, .fail, .disableRenewal, .expire, .refund]),
      ("active", #","willRenew":false"#, [.renew, .fail, .enableRenewal, .expire, .refund]), ("active", "", [.refund]),
      ("grace", "", [.recover, .endGrace, .expire, .refund]), ("billingRetry", "", [.recover, .expire, .refund]),
      ("expired", "", [.refund]), ("revoked", "", []), ("upgraded", "", []),
    ] as [(String, String, [PlayedLife.Action])])
  func `each state has its actions`(state: String, more: String, actions: [PlayedLife.Action]) throws {
    #expect(try #require(Self.life(state, more: more)).actions == actions)
  }

  @Test func `a form names a publisher, an app and a customer`() throws {
    func form(_ text: String) throws -> PlayForm? { PlayForm(try #require(FormBody(Array(text.utf8)))) }
    let good = try #require(try form("app=7+com.example&product=yearly&customer=c-1&grace=0"))
    #expect(good.place == AppKey(publisherId: 7, bundleId: "com.example") && good.customer == "c-1")
    for wrong in [
      "", "app=7+a&product=other&customer=c&grace=0", "app=7+a&product=yearly&customer=c&grace=5",
      "app=7+a&product=yearly&grace=0", "product=yearly&customer=c&grace=0",
    ] {
      #expect(try form(wrong) == nil, "\(wrong)")
    }
    for app in ["", "7", "x+a", "+"] {
      #expect(try form("app=\(app)&product=yearly&customer=c&grace=0")?.place == nil, "\(app)")
    }
  }

  @Test func `what a stranger wrote stays text`() throws {
    let escaped = Self.evil.replacing("\"", with: "\\\"")
    let life = try #require(Self.life(id: escaped, product: escaped))
    let key = PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: life.id)
    for isLive in [true, false] {
      let page = LifePage(
        view: try Self.view(), key: key, customer: CustomerId(Self.evil), life: life, purchase: nil, isLive: isLive,
        refusal: Self.evil)
      #expect(!page.html.contains("<script") && page.html.contains("&lt;script&gt;"))
    }
    let start = PlayPage(
      view: try Self.view(), apps: [AppKey(publisherId: 7, bundleId: BundleId(Self.evil))], refusal: Self.evil)
    #expect(!start.html.contains("<script") && start.html.contains("&lt;script&gt;"))
    #expect(start.html.contains("href=\"/c/play\""))
  }

  @Test func `a viewer lets nothing happen`() throws {
    let life = try #require(Self.life())
    let key = PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: life.id)
    let page = LifePage(view: try Self.view(.viewer), key: key, customer: "c", life: life, purchase: nil, isLive: false)
    #expect(!page.html.contains("/play/7/2000/refund"))
    #expect(
      LifePage(view: try Self.view(), key: key, customer: "c", life: life, purchase: nil, isLive: false)
        .html.contains("/play/7/2000/refund"))
  }
}

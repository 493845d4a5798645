import AppleCalls
import Crypto
import Domain
import DomainSupport
import Testing

@testable import Console

/// What the console asks Apple, and what it shows of the answer.
struct OrderPageTests {
  private typealias Given = AnsweredPurchases

  private static func view(_ role: ConsoleRole = .support, _ publishers: SeenPublishers = .all) throws -> ConsoleView {
    ConsoleView(
      prefix: "/c",
      person: ConsolePerson(name: "ada", role: role, publishers: publishers, password: try Scrypt(of: "x", logN: 10)),
      now: Given.now)
  }

  private static func publisher(_ id: PublisherId, _ environments: [Environment] = [.production]) throws -> Publisher {
    let app = Publisher.App(
      bundleId: "com.example", appAppleId: nil, issuerId: "i", keyId: "k", privateKey: try .generate(),
      environments: environments)
    return Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: [app], offers: OfferCatalog([]),
      webhooks: [])
  }

  @Test(arguments: [
    ("MK5TTTVWJH", "MK5TTTVWJH"), ("mk5tttvwjh", "MK5TTTVWJH"), ("MK5TT", nil), ("2000000000000001", nil),
    ("", nil), ("ada@example.com", nil), ("a-synchronization", nil), (String(repeating: "A", count: 65), nil),
  ])
  func `a text may be an order id`(text: String, id: String?) {
    #expect(OrderQuestion.orderId(text)?.text == id)
  }

  @Test func `Apple is asked for whom the person sees, where it can be asked`() throws {
    let all = [try Self.publisher(7), try Self.publisher(8, [.sandbox]), try Self.publisher(9)]
    let id = "MK5TTTVWJH"
    #expect(OrderQuestion(id, try Self.view(), of: all)?.publishers == [7, 9])
    let one = try #require(OrderQuestion(id, try Self.view(.support, SeenPublishers("9")!), of: all))
    #expect(one.publishers == [9])
    #expect(OrderQuestion(id, try Self.view(.viewer), of: all) == nil)
    #expect(OrderQuestion(id, try Self.view(.operator, SeenPublishers("8")!), of: all) == nil)
    #expect(OrderQuestion("none", try Self.view(), of: all) == nil)
    // One publisher needs no choice; several do.
    let view = try Self.view()
    #expect(one.form(view).source.contains(#"name="publisher" value="9""#))
    let form = try #require(OrderQuestion(id, view, of: all)).form(view).source
    #expect(form.contains(#"action="/c/orders""#) && form.contains(#"<option value="7">"#))
    var page = FindPage(view: view, text: id)
    #expect(!page.html.contains("Ask Apple"))
    page.question = one
    #expect(page.html.contains("Ask Apple"))
  }

  private static func page(_ reply: OrderReply, _ known: [Purchase] = []) throws -> OrderPage {
    OrderPage(
      view: try view(), id: "MK5TTTVWJH", publisherId: 7, reply: reply,
      known: Dictionary(known.map { ($0.key, $0) }) { one, _ in one })
  }

  @Test func `the only purchase opens if it is here`() throws {
    let purchase = Given.purchase(Given.transaction())
    let twice = OrderReply.found("com.example", [Given.transaction("101"), Given.transaction("102")])
    #expect(try Self.page(twice, [purchase]).only?.address == "/c/purchases/7/Production/100")
    #expect(try Self.page(twice).only == nil)
    let two = OrderReply.found("com.example", [Given.transaction(), Given.transaction("900", of: "900")])
    let page = try Self.page(two, [purchase])
    #expect(page.only == nil && page.status == 200 && page.retryAfter == nil)
    #expect(page.html.contains("/c/purchases/7/Production/100") && page.html.contains("not known here"))
    #expect(page.html.contains("restore purchases"))
    #expect(!(try Self.page(twice, [purchase]).html.contains("restore purchases")))
  }

  @Test func `each other answer says what to do`() throws {
    let answers: [(OrderReply, Int, Int?)] = [
      (.unknown, 404, nil), (.found("com.example", []), 200, nil), (.failed(.busy(.milliseconds(200))), 429, 1),
      (.failed(.away("com.example")), 503, 5), (.failed(.keyRefused("com.example")), 503, 5),
      (.failed(.unverified("com.example")), 503, 5),
    ]
    var titles: Set<String> = []
    for (reply, status, retryAfter) in answers {
      let page = try Self.page(reply)
      #expect(page.status == status && page.retryAfter == retryAfter && page.only == nil, "\(reply)")
      titles.insert(try #require(page.html.text.firstMatch(of: /<h1>([^<]+)/)).1.description)
      #expect(page.html.contains("MK5TTTVWJH"))
    }
    #expect(titles.count == answers.count)
  }

  @Test func `markup stays text`() throws {
    let evil = "<script>alert('x')</script>"
    var facts = Given.transaction(TransactionId(evil), of: OriginalTransactionId(evil))
    facts.productId = ProductId(evil)
    let pages = [
      try Self.page(.found(BundleId(evil), [facts])).html, try Self.page(.failed(.away(BundleId(evil)))).html,
    ]
    for page in pages { #expect(!page.contains("<script") && page.contains("&lt;script&gt;")) }
  }
}

import Configuration
import Crypto
import Domain
import DomainSupport
import Formats
import Ledger
import Testing

@testable import Console

/// The lists as text: what a stranger wrote is escaped, and a viewer sees no customer.
struct ListPageTests {
  private static let evil = "<script>alert('x')</script>\"&"
  private static let now = AnsweredPurchases.now
  private static let hour: Int64 = 3_600_000

  private static func view(_ role: ConsoleRole = .support, _ publishers: SeenPublishers = .all) throws -> ConsoleView {
    ConsoleView(
      prefix: "/c",
      person: ConsolePerson(name: "ada", role: role, publishers: publishers, password: try Scrypt(of: "x", logN: 10)),
      now: now)
  }

  private static func people(_ names: [(String, String)]) throws -> ConsolePeople {
    let lines = try names.map { name, publishers in
      ConsolePerson.line(name, .support, try #require(SeenPublishers(publishers)), try Scrypt(of: "x", logN: 10))
    }
    return ConsolePeople(lines.joined(separator: "\n"))
  }

  private static func request(
    _ text: String = "100", _ state: RefundRequest.State = .open, product: ProductId = "monthly",
    asked: Int64 = now - hour, answer: ConsumptionAnswer? = nil, by answerer: RefundRequest.Answerer? = nil
  ) -> RefundRequest {
    RefundRequest(
      id: "rfr_1",
      purchase: PurchaseKey(
        publisherId: 7, environment: .production, originalTransactionId: OriginalTransactionId(text)),
      transactionId: TransactionId(text), bundleId: BundleId(text), productId: product, kind: .autoRenewable,
      customerId: CustomerId(text), reason: text, requestedAt: asked, state: state, answer: answer,
      answeredBy: answerer, lastError: state == .sending ? text : nil)
  }

  private static func refunds(
    _ requests: [RefundRequest], _ view: ConsoleView, state: String? = nil, next: ConsolePlace? = nil
  ) -> RefundRequestsPage {
    RefundRequestsPage(
      view: view, question: ListQuestion(choices: [7, 8], filters: state.map { ["state": $0] } ?? [:]),
      found: ConsoleRows(requests, next: next),
      policies: [
        7: OfferCatalog([Offer(id: "S1", productIds: ["monthly"], consumption: ConsumptionPolicy(.fromFacts))])
      ])
  }

  private static func unclaimed(_ purchases: [ConsoleUnclaimed.Purchase], _ view: ConsoleView) -> UnclaimedPage {
    UnclaimedPage(view: view, question: ListQuestion(choices: [7]), found: ConsoleRows(purchases))
  }

  private static func purchase(_ text: String, bought: Int64 = now - hour) -> ConsoleUnclaimed.Purchase {
    ConsoleUnclaimed.Purchase(
      key: PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: OriginalTransactionId(text)),
      productId: ProductId(text), boughtAt: bought, paidAt: bought, expiresAt: now + 72 * hour, price: 9990,
      currency: CurrencyCode(text))
  }

  private static func entry(
    _ action: String, _ subject: String, actor: String = "operator", name: String? = "bob", publisher: PublisherId = 7,
    detail: String = "{}"
  ) -> ConsoleAudit.Entry {
    ConsoleAudit.Entry(
      id: 81, publisherId: publisher, at: now - hour, actor: actor, name: name, action: action, subject: subject,
      detail: Array(detail.utf8))
  }

  private static func audit(
    _ entries: [ConsoleAudit.Entry], _ view: ConsoleView, _ people: ConsolePeople = ConsolePeople(""),
    customer: String? = nil
  ) -> AuditPage {
    AuditPage(
      view: view, question: ListQuestion(choices: [7], filters: customer.map { ["customer": $0] } ?? [:]),
      names: AuditNames(reader: view.person, people: people), found: ConsoleRows(entries))
  }

  @Test func `markup stays text on every list`() throws {
    let (view, evil) = (try Self.view(.operator), Self.evil)
    let detail = "{\"environment\":\"Production\",\"transactionId\":\"<script>alert('x')</script>\"}"
    let pages = [
      Self.refunds([Self.request(evil), Self.request(evil, .sending, product: ProductId(evil))], view).html,
      Self.unclaimed([Self.purchase(evil)], view).html,
      Self.audit(
        [
          Self.entry("customer.granted", evil, name: evil), Self.entry("purchase.released", evil, detail: detail),
          Self.entry("refundRequest.answered", evil, detail: detail), Self.entry(evil, evil, actor: evil),
        ], view, customer: evil
      ).html,
    ]
    for (number, page) in pages.enumerated() {
      #expect(!page.contains("<script"), "page \(number)")
      #expect(!page.contains("alert('x')"), "page \(number)")
      #expect(page.contains("&lt;script&gt;"), "page \(number)")
      #expect(!page.contains("style="), "page \(number)")
    }
  }

  @Test func `an import says how far it is, and its cause is for support`() throws {
    var one = UploadedImport(
      id: "imp_1", publisherId: 7, wish: UploadedImport.Wish(preset: .plain), createdAt: Self.now - Self.hour)
    (one.state, one.cause, one.problemCount) = (.failed, Self.evil, 1234)
    (one.progress.rows, one.progress.done, one.progress.rowsPerMinute) = (.max, 5, 1)
    func page(_ role: ConsoleRole) throws -> ImportsPage {
      ImportsPage(
        view: try Self.view(role), question: ListQuestion(choices: [7]), found: ConsoleRows([one]))
    }
    let html = try page(.support).html
    #expect(!html.contains("<script") && html.contains("&lt;script&gt;") && html.contains("1,234"))
    #expect(html.contains("5 of 9,223,372,036,854,775,807") && html.contains("imp_1"))
    #expect(try !page(.viewer).html.contains("&lt;script&gt;"))
    #expect(try !String(decoding: page(.viewer).json, as: UTF8.self).contains("script"))
    one.progress.rows = nil
    #expect(try page(.viewer).html.contains("not read yet"))
    #expect(
      ImportsPage(view: try Self.view(), question: ListQuestion(choices: [7])).html.contains("POST /imports"))
  }

  @Test func `each page leads to the lists, and marks its own`() throws {
    let page = Self.audit([], try Self.view()).html
    for list in ConsoleList.allCases { #expect(page.contains("href=\"/c/\(list.rawValue)\""), "\(list)") }
    #expect(page.contains("<a href=\"/c/audit\" aria-current=\"page\">Audit</a>"))
    #expect(page.ranges(of: "aria-current").count == 1)
    #expect(!Layout.message("x", try Self.view(), "x", back: try Self.view().link([])).contains("aria-current"))
  }

  @Test func `an empty list says what to do, and a full one leads on`() throws {
    let view = try Self.view()
    #expect(Self.refunds([], view).html.contains("Apple waits for no answer."))
    #expect(Self.refunds([], view, state: "expired").html.contains("No request is in the state “deadline passed”."))
    #expect(Self.audit([], view).html.contains("Nothing has changed yet."))
    #expect(Self.audit([], view, customer: "42").html.contains("Nobody has changed this customer."))
    #expect(Self.unclaimed([], view).html.contains("Each purchase has an owner, or is over."))
    let first = Self.refunds([Self.request()], view, next: ConsolePlace(5, 7, "rfr_1"))
    #expect(first.html.contains("href=\"/c/refund-requests?after=5.7.rfr_1\">Next page</a>"))
    #expect(!first.html.contains("First page"))
    let json = String(decoding: first.json, as: UTF8.self)
    #expect(json.contains("\"next\":\"/c/refund-requests.json?after=5.7.rfr_1\""), "\(json)")
    var behind = UnclaimedPage(
      view: view, question: ListQuestion(choices: [7], after: ConsolePlace(0, 7, "100")), found: ConsoleRows())
    #expect(behind.html.contains("Nothing more is here.") && behind.html.contains("First page"))
    // A page that has looked through as much as it may says that another one follows.
    behind.found = ConsoleRows(next: ConsolePlace(0, 7, "50"))
    #expect(behind.html.contains("The 20000 purchases") && behind.html.contains("Next page"))
  }

  @Test func `a person chooses among the publishers that there are to see`() throws {
    let view = try Self.view()
    let several = Self.refunds([], view).html
    #expect(several.contains("<option value=\"7\">7</option>") && several.contains(">all</option>"))
    #expect(!Self.unclaimed([], view).html.contains("name=\"publisher\""))
    let many = UnclaimedPage(view: view, question: ListQuestion(choices: [7, 8], mostPublishers: 1)).html
    #expect(many.contains("You see 2 publishers. Choose one") && many.contains(">choose one</option>"))
  }

  @Test func `a request says until when, and what becomes of it`() throws {
    let view = try Self.view()
    let open = Self.refunds([Self.request()], view).html
    #expect(open.contains("in 11 hours") && open.contains("The offer&#39;s policy answers once"))
    #expect(!open.contains("mark bad") && open.contains("href=\"/c/customers/7/100\""))
    let asked = Self.refunds([Self.request(product: "other", asked: Self.now - 10 * Self.hour)], view).html
    #expect(asked.contains("mark bad") && asked.contains("backend must answer, with the API"))
    let answer = ConsumptionAnswer(.delivered, percentage: 25_000, preference: .decline, isSampleProvided: true)
    let answered = Self.refunds([Self.request("100", .answered, answer: answer, by: .policy)], view, state: "answered")
    #expect(answered.html.contains("Delivered, 25 % used, please decline by the policy. Apple has it."))
    #expect(answered.html.contains("<option value=\"answered\" selected=\"selected\">"))
    #expect(RefundRequestsPage.words(ConsumptionAnswer(.wrongItem, isSampleProvided: false)).hasPrefix("Not delivered"))
  }

  @Test(arguments: [(nil, true), ("answered", true), ("expired", true), ("open", false), ("x", false)])
  func `a state is one that is over`(state: String?, isReadable: Bool) throws {
    #expect(Self.refunds([], try Self.view(), state: state).isReadable == isReadable)
  }

  @Test func `an unclaimed purchase says how old it is and what it cost`() throws {
    let page = Self.unclaimed(
      [Self.purchase("100", bought: Self.now - 5 * Self.hour), Self.purchase("90")], try Self.view()
    ).html
    for words in ["1 hour ago", "5 hours ago", "in 3 days", "9.99 100", "/c/purchases/7/Production/100", "restore"] {
      #expect(page.contains(words), "\(words)")
    }
    // In the order of the ledger's index.
    let (first, second) = (try #require(page.firstRange(of: ">100<")), try #require(page.firstRange(of: ">90<")))
    #expect(first.lowerBound < second.lowerBound)
  }

  @Test func `an entry leads to what it was done to, and to the way back`() throws {
    let view = try Self.view(.operator)
    let granted = Self.audit([Self.entry("customer.granted", "42")], view).html
    #expect(granted.contains("href=\"/c/customers/7/42\">42</a>") && granted.contains("withdraw there"))
    #expect(granted.contains("operator <span class=\"name\">bob</span>"))
    let erased = Self.audit([Self.entry("customer.granted", "erased:1")], view).html
    #expect(!erased.contains("/c/customers") && !erased.contains("erased:1") && !erased.contains("there"))
    let purchase = Self.audit(
      [Self.entry("purchase.registered", "100", actor: "customer", name: nil, detail: "{\"environment\":\"Sandbox\"}")],
      view
    ).html
    #expect(purchase.contains("href=\"/c/purchases/7/Sandbox/100\">100</a>") && purchase.contains("release there"))
    for action in ["purchase.released", "purchase.checked"] {
      let page = Self.audit([Self.entry(action, "100", detail: "{\"environment\":\"Sandbox\"}")], view).html
      #expect(!page.contains("release there") && page.contains("environment Sandbox"), "\(action)")
    }
    let released = Self.audit([Self.entry("purchase.released", "100", detail: "{\"environment\":\"Sandbox\"}")], view)
    #expect(released.html.contains("href=\"/c/purchases/7/Sandbox/100\">transfer there</a>"))
    for (action, words) in [("endpoint.disabled", "enable there"), ("endpoint.enabled", "disable there")] {
      let page = Self.audit([Self.entry(action, "ep")], view).html
      #expect(page.contains("href=\"/c/endpoints/7/ep\">\(words)</a>"), "\(action)")
    }
    let resent = Self.audit([Self.entry("event.resent", "ep")], view).html
    #expect(resent.contains("href=\"/c/endpoints/7/ep\">ep</a>") && !resent.contains("there"))
    let request = Self.audit(
      [Self.entry("refundRequest.answered", "rfr_1", detail: "{\"transactionId\":\"101\"}")], view)
    #expect(request.html.contains("href=\"/c/find?q=101\">rfr_1</a>"))
    // What nobody can read stays a text.
    #expect(Self.audit([Self.entry("purchase.released", "100", detail: "?")], view).html.contains("<code>100</code>"))
  }

  @Test func `a long detail is cut, and JSON has all of it`() throws {
    let detail = "{\"a\":\"\(String(repeating: "b", count: 400))\"}"
    let page = Self.audit([Self.entry("jobs.retried", "jobs", detail: detail)], try Self.view())
    #expect(page.html.contains("b …</span>") && !page.html.contains(String(repeating: "b", count: 300)))
    #expect(String(decoding: page.json, as: UTF8.self).contains("\"detail\":\(detail)"))
  }

  @Test func `names of people are for colleagues and operators`() throws {
    let people = try Self.people([("bob", "7"), ("eve", "8")])
    func name(_ role: ConsoleRole, _ entry: ConsoleAudit.Entry) throws -> String? {
      AuditNames(reader: try Self.view(role).person, people: people).name(in: entry)
    }
    let (bob, kim) = (Self.entry("customer.granted", "42"), Self.entry("dead.retried", "jobs", name: "kim"))
    let eve = Self.entry("customer.granted", "42", name: "eve")
    #expect(try name(.operator, bob) == "bob" && name(.operator, kim) == "kim")
    #expect(try name(.support, bob) == "bob" && name(.support, kim) == nil && name(.support, eve) == nil)
    #expect(try name(.viewer, bob) == nil)
    let token = Self.entry("customer.put", "42", actor: "publisher", name: "shop")
    #expect(try name(.viewer, token) == "shop")
  }

  @Test func `a viewer sees no customer in a list`() throws {
    let (viewer, secret) = (try Self.view(.viewer), "customer-secret")
    var request = Self.request()
    request.customerId = CustomerId(secret)
    let refunds = Self.refunds([request], viewer)
    let audit = Self.audit([Self.entry("customer.put", secret), Self.entry("customer.granted", secret)], viewer)
    for text in [
      refunds.html.text, String(decoding: refunds.json, as: UTF8.self), audit.html.text,
      String(decoding: audit.json, as: UTF8.self),
    ] { #expect(!text.contains(secret)) }
    #expect(refunds.html.contains("hidden from viewers") && !audit.html.contains("name=\"customer\""))
    #expect(!audit.html.contains("there") && !audit.html.contains("bob"))
  }

  private static func configured(_ id: PublisherId, _ text: String = "com.example", mode: Publisher.Mode = .live) throws
    -> Publisher
  {
    let app = Publisher.App(
      bundleId: BundleId(text), appAppleId: 5, issuerId: "issuer-\(text)", keyId: "key-\(text)",
      privateKey: try .generate(), environments: [.production])
    return Publisher(
      id: id, customers: .open, tokenHashes: [], customerTokens: nil, apps: [app],
      offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), mode: mode, webhooks: [])
  }

  private static func configuration(
    _ publishers: Publishers, _ view: ConsoleView, after: ConsolePlace? = nil
  ) -> ConfigurationPage {
    ConfigurationPage(
      view: view,
      question: ListQuestion(choices: publishers.all.map(\.id).filter(view.person.sees), after: after), publishers)
  }

  @Test func `the configuration shows the publishers that a person may see, and no secret`() throws {
    let publishers = Publishers(
      [try Self.configured(7, Self.evil), try Self.configured(8, "com.other", mode: .shadow)],
      broken: [
        BrokenPublisher(file: "7.json", id: 7, mistakes: [Self.evil], hidesCallers: false, isKept: true),
        BrokenPublisher(file: "x.json", id: nil, mistakes: ["what"], hidesCallers: true),
      ])
    let seven = try #require(SeenPublishers("7"))
    let own = Self.configuration(publishers, try Self.view(.operator, seven))
    #expect(!own.html.contains("com.other") && !own.html.contains("x.json") && !own.html.contains("<script"))
    #expect(own.html.contains("7.json") && own.html.contains("The content from before counts still."))
    #expect(own.html.contains("key-&lt;script&gt;") && !own.html.contains("issuer-"))
    let all = Self.configuration(publishers, try Self.view(.support))
    #expect(all.html.contains("com.other") && all.html.contains("shadow") && all.html.contains("x.json"))
    // What is wrong in a file is the operators' business.
    #expect(!all.html.contains("what"))
    let json = String(decoding: all.json, as: UTF8.self)
    #expect(json.contains("\"hasMistake\":true") && json.contains("\"keyId\":\"key-com.other\""), "\(json)")
    let viewer = Self.configuration(publishers, try Self.view(.viewer))
    #expect(!viewer.html.contains("key-com.other") && !String(decoding: viewer.json, as: UTF8.self).contains("keyId"))
    let nobody = Self.configuration(publishers, try Self.view(.viewer, try #require(SeenPublishers("9"))))
    #expect(nobody.html.contains("No publisher is here"))
  }

  @Test func `many publishers have pages`() throws {
    let publishers = Publishers(try (1...60).map { try Self.configured(PublisherId($0)) })
    let first = Self.configuration(publishers, try Self.view())
    #expect(first.found.rows.map(\.id.number) == Array(1...50) && first.found.next == ConsolePlace(0, 50, ""))
    let second = Self.configuration(publishers, try Self.view(), after: first.found.next)
    #expect(second.found.rows.map(\.id.number) == Array(51...60) && second.found.next == nil)
  }
}

import Crypto
import Domain
import DomainSupport
import HTTPServer
import Ledger
import Testing

@testable import Console

/// An action that is not done keeps its page: the reason, and what the person has filled in.
struct RefusedActionTests {
  private static let now = AnsweredPurchases.now
  private static let customer = CustomerKey(publisherId: 7, id: "42")
  private static let purchase = PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: "..")
  private static let endpoint = EndpointKey(publisherId: 7, id: "ep")

  private static func view(_ role: ConsoleRole = .support) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static func customerPage(_ view: ConsoleView) -> Document {
    CustomerPage(
      view: view, customer: customer,
      rules: AccessRules(offers: OfferCatalog([Offer(id: "S1", productIds: ["m"])]), allowsSandbox: false),
      holdings: CustomerPurchases(isKnown: true, version: 1), purchases: [], timeline: ConsoleTimeline.Reading()
    ).html
  }

  private static let actions: [ConsoleRoute.Action] = [
    .give(customer), .withdraw("0b0c1d9e-52f0-4c4e-9f53-0a9c2d7f1e10", customer), .allowSandbox(customer),
    .withdrawSandbox(customer), .note(customer), .release(purchase), .transfer(purchase), .check(purchase),
    .export(customer), .erase(customer), .resend(EventKey(publisherId: 7, id: "evt"), to: "ep"), .recover(endpoint),
    .endpoint(.rotate, endpoint), .retry(SynchronizationsKey(publisherId: 7, id: "s")), .retryAll, .dead(.retry),
    .dead(.drop), .testNotification, .startLife, .apply(.endGrace, purchase),
  ]

  @Test(arguments: actions) func `each action has a page with its form`(action: ConsoleRoute.Action) throws {
    // The address of the page leads to the page.
    let link = Link("", action.page.segments).address
    let path = try #require(pathSegments(link[...]))
    #expect(ConsoleRoute(path) == .page(action.page, isJSON: false), "\(link)")
    if case .list(let list) = action.page {
      #expect(Set(action.choices).isSubset(of: Set(list.filters + ["publisher"])))
    } else {
      #expect(action.choices == [])
    }
  }

  @Test func `the page says why, once, as an alert`() throws {
    var view = try Self.view()
    #expect(!Self.customerPage(view).contains("role=\"alert\""))
    view.refuse(.note(Self.customer), [("text", "<b>")], "Because <of> it.")
    let page = Self.customerPage(view)
    #expect(page.text.ranges(of: "role=\"alert\"").count == 1)
    #expect(page.contains("Not done.") && page.contains("Because &lt;of&gt; it.") && !page.contains("<b>"))
    #expect(page.contains("&lt;b&gt;</textarea>"))
  }

  @Test func `only the form that was sent has what was filled in`() throws {
    let fields: [(name: String, value: String)] = [
      ("until", "2030-01-02"), ("reason", "testing"), ("note", "typed"), ("offerId", "S1"),
    ]
    func page(_ action: ConsoleRoute.Action?) throws -> String {
      var view = try Self.view()
      if let action { view.refuse(action, fields) }
      return Self.customerPage(view).text
    }
    let open = "<details open=\"open\">"
    for action in [ConsoleRoute.Action.give(Self.customer), .allowSandbox(Self.customer)] {
      let text = try page(action)
      #expect(text.ranges(of: "value=\"2030-01-02\"").count == 1, "\(action)")
      #expect(text.ranges(of: "value=\"typed\"").count == 1, "\(action)")
      #expect(text.ranges(of: open).count == 1, "\(action)")
    }
    // Another customer's form is none of this page's.
    let others: [ConsoleRoute.Action?] = [
      nil, .export(Self.customer), .give(CustomerKey(publisherId: 7, id: "43")),
    ]
    for action in others {
      let text = try page(action)
      #expect(!text.contains("2030-01-02") && !text.contains(open))
    }
  }

  @Test func `an empty form stays open, and one that cannot be read is empty`() throws {
    var view = try Self.view()
    view.refuse(.note(Self.customer), [])
    #expect(Self.customerPage(view).contains("<details open=\"open\">"))
    view.refused = RefusedAction(action: .note(Self.customer), words: "why", form: FormBody(Array("text=%zz".utf8)))
    let page = Self.customerPage(view)
    #expect(view.typed(.note(Self.customer)) == nil && page.contains("<details open=\"open\">"))
    #expect(page.contains("></textarea>"))
  }

  @Test func `an endpoint's page keeps the day`() throws {
    var view = try Self.view()
    view.refuse(.recover(Self.endpoint), [("since", "2026-02-30\"")])
    let page = EndpointPage(
      view: view, endpoint: ConsoleEndpoint(publisherId: 7, id: "ep", url: "https://hook.example", source: "api"),
      state: ConsoleEndpoint.State(), backlog: nil, attempts: AttemptPage(entries: [], next: nil)
    ).html
    #expect(page.contains("value=\"2026-02-30&quot;\"") && page.contains("role=\"alert\""))
  }

  @Test func `an erasure keeps what was typed`() throws {
    let holdings = CustomerPurchases(isKnown: true, version: 1)
    var preview = ErasurePreview(view: try Self.view(.operator), customer: Self.customer, holdings: holdings)
    (preview.refusal, preview.typed) = ("The field has another id.", "4<2")
    #expect(preview.html.contains("value=\"4&lt;2\"") && preview.html.contains("role=\"alert\""))
  }

  @Test func `where no page can say it, a message does`() throws {
    let reader = ConsoleReader(view: try Self.view(), page: ["dead"])
    let answer = reader.answer(to: .notDone(409, "Nothing is there."))
    #expect(answer.status == 409 && String(decoding: answer.body, as: UTF8.self).contains("Nothing is there."))
    let whole = HTTPServerResponse.text(404, "nothing")
    #expect(reader.answer(to: .answered(whole)).status == 404)
  }
}

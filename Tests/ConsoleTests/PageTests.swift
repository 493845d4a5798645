import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// Each page as text: what a stranger wrote is escaped, and a viewer sees no customer.
struct PageTests {
  private static let evil = "<script>alert('x')</script>\"&"
  private static let now = AnsweredPurchases.now

  private static func view(_ role: ConsoleRole = .support, name: String = "ada") throws -> ConsoleView {
    let person = ConsolePerson(name: name, role: role, publishers: .all, password: try Scrypt(of: "x", logN: 10))
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static func rules(_ displayName: String? = nil) -> AccessRules {
    AccessRules(
      offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"], displayName: displayName)]), allowsSandbox: true)
  }

  private static func moment(_ text: String) -> ConsoleMoment {
    ConsoleMoment(kind: .event, at: now, signedAt: now, what: text, id: text, about: text, detail: text)
  }

  private static func customerPage(
    _ text: String, _ view: ConsoleView, purchases: [Purchase] = [], grants: [Grant] = []
  ) -> CustomerPage {
    CustomerPage(
      view: view, customer: CustomerKey(publisherId: 7, id: CustomerId(text)), email: text, rules: rules(text),
      holdings: CustomerPurchases(isKnown: true, version: 3, purchases: purchases, grants: grants),
      purchases: purchases, timeline: ConsoleTimeline.Reading(moments: [moment(text)]))
  }

  private static func purchasePage(_ text: String, _ view: ConsoleView) -> PurchasePage {
    var facts = AnsweredPurchases.transaction(TransactionId(text), of: OriginalTransactionId(text))
    facts.offerDiscountType = text
    facts.ownershipType = text
    facts.currency = CurrencyCode(text)
    facts.price = 1990
    facts.appAccountToken = AppAccountToken(text)
    facts.bundleId = BundleId(text)
    facts.productId = ProductId(text)
    let purchase = AnsweredPurchases.purchase(
      facts, renewal: AnsweredPurchases.renewal(of: OriginalTransactionId(text)))
    return PurchasePage(
      view: view,
      record: PurchaseRecord(
        purchase,
        ownerships: [
          OwnershipPeriod(subscriptionId: 1, customerId: CustomerId(text), beganAt: now, endedAt: nil, cause: text)
        ]), rules: rules(text), notifications: [moment(text)],
      evidence: [
        ConsoleEvidence(
          kind: text, source: text, signedAt: now, receivedAt: now, payload: Array("{\"\(text)\":1}".utf8),
          header: text, signature: [1])
      ],
      requests: [
        RefundRequest(
          id: "rfr_1", purchase: purchase.key, transactionId: TransactionId(text), bundleId: BundleId(text),
          productId: ProductId(text), kind: .autoRenewable, customerId: CustomerId(text), reason: text,
          requestedAt: now, state: .sending, lastError: text)
      ])
  }

  @Test func `markup stays text on every page`() throws {
    let view = try Self.view(name: Self.evil)
    var facts = AnsweredPurchases.transaction(TransactionId(Self.evil), of: OriginalTransactionId(Self.evil))
    facts.productId = "monthly"
    var other = AnsweredPurchases.transaction("201", of: "200")
    other.productId = ProductId(Self.evil)
    let grant = Grant(
      id: TestGrants.id(1), customer: CustomerKey(publisherId: 7, id: CustomerId(Self.evil)), offerId: "S1",
      reason: .support, note: Self.evil, createdAt: Self.now, endsAt: Self.now + 1)
    let pages = [
      SignInPage(prefix: "/c", next: Self.evil, name: Self.evil, mistake: Self.evil).html,
      FindPage(view: view, text: Self.evil).html,
      FindPage(
        view: view, text: Self.evil,
        hits: [
          ConsoleHit(kind: .event, publisherId: 7, customer: CustomerId(Self.evil), detail: Self.evil),
          ConsoleHit(
            kind: .purchase, publisherId: 7,
            purchase: PurchaseKey(
              publisherId: 7, environment: Environment(Self.evil),
              originalTransactionId: OriginalTransactionId(Self.evil))
          ),
        ]
      ).html,
      Self.customerPage(
        Self.evil, view, purchases: [facts, other].map { AnsweredPurchases.purchase($0) }, grants: [grant]
      ).html, Self.purchasePage(Self.evil, view).html,
      Layout.message(Self.evil, view, Self.evil, back: view.link([Self.evil])),
    ]
    for (number, page) in pages.enumerated() {
      #expect(!page.contains("<script"), "page \(number)")
      #expect(!page.contains("alert('x')"), "page \(number)")
      #expect(page.contains("&lt;script&gt;"), "page \(number)")
      #expect(!page.contains("style="), "page \(number)")
    }
  }

  @Test func `the verdict comes first, and says why`() throws {
    let purchase = AnsweredPurchases.purchase(AnsweredPurchases.transaction(), renewal: AnsweredPurchases.renewal())
    let page = Self.customerPage("42", try Self.view(), purchases: [purchase]).html
    for words in [
      "Has access", "in 20 days", "will renew", "subscriptionActive", "/c/purchases/7/Production/100", "101",
    ] {
      #expect(page.contains(words), "\(words)")
    }
    let verdict = try #require(page.firstRange(of: "Has access"))
    let timeline = try #require(page.firstRange(of: "Timeline"))
    #expect(verdict.lowerBound < timeline.lowerBound)
    #expect(!page.contains("Pays twice"))
    #expect(Self.customerPage("42", try Self.view()).html.contains("This customer has no purchase and no grant."))
  }

  @Test func `two live subscriptions to one offer are a flag`() throws {
    let one = AnsweredPurchases.purchase(AnsweredPurchases.transaction(), renewal: AnsweredPurchases.renewal())
    let two = AnsweredPurchases.purchase(
      AnsweredPurchases.transaction("201", of: "200"), renewal: AnsweredPurchases.renewal(of: "200"))
    let ending = AnsweredPurchases.purchase(
      AnsweredPurchases.transaction("201", of: "200"), renewal: AnsweredPurchases.renewal(of: "200", willRenew: false))
    #expect(Self.customerPage("42", try Self.view(), purchases: [one, two]).paidTwice == ["S1"])
    #expect(Self.customerPage("42", try Self.view(), purchases: [one, ending]).paidTwice == [])
    #expect(Self.customerPage("42", try Self.view(), purchases: [one, two]).html.contains("Pays twice"))
  }

  @Test func `a viewer sees no customer on a purchase`() throws {
    let secret = "customer-secret"
    let seen = Self.purchasePage(secret, try Self.view())
    #expect(seen.html.contains("/c/customers/7/customer-secret"))
    #expect(String(decoding: seen.json, as: UTF8.self).contains("customerId"))
    let purchase = AnsweredPurchases.purchase(AnsweredPurchases.transaction())
    let hidden = PurchasePage(
      view: try Self.view(.viewer),
      record: PurchaseRecord(
        purchase,
        ownerships: [
          OwnershipPeriod(
            subscriptionId: 1, customerId: CustomerId(secret), beganAt: Self.now, endedAt: nil, cause: "registration")
        ]), rules: Self.rules(), notifications: [],
      evidence: [
        ConsoleEvidence(
          kind: "transaction", source: "client", signedAt: 0, receivedAt: 0,
          payload: Array("{\"appAccountToken\":\"\(secret)\"}".utf8), header: "header", signature: [1])
      ])
    #expect(!hidden.html.contains("JWS") && !hidden.html.contains("header."))
    #expect(!hidden.html.contains(secret) && hidden.html.contains("hidden from viewers"))
    #expect(!String(decoding: hidden.json, as: UTF8.self).contains(secret))
  }

  @Test func `a viewer finds no customer`() throws {
    let hit = ConsoleHit(kind: .event, publisherId: 7, customer: "customer-secret", detail: "topic")
    let page = FindPage(view: try Self.view(.viewer), text: "evt", hits: [hit])
    #expect(!page.html.contains("customer-secret") && page.only?.address == "/c/events/7/evt")
    #expect(!String(decoding: page.json, as: UTF8.self).contains("customer-secret"))
    #expect(
      FindPage.kinds(of: "42", .viewer)
        == [.purchase, .transaction, .synchronization, .notification, .event, .delivery])
  }

  @Test(
    arguments: [
      ("42", [.customer, .purchase, .transaction, .synchronization, .notification, .event, .delivery]),
      ("a@b.example", [.customer, .email, .synchronization, .notification, .event, .delivery]), ("", []),
      ("a\u{0}b", []), (String(repeating: "x", count: 513), []),
    ] as [(String, [ConsoleHit.Kind])])
  func `a text is guessed`(text: String, kinds: [ConsoleHit.Kind]) {
    #expect(FindPage.kinds(of: text, .support) == kinds)
  }

  @Test func `one thing opens its page`() throws {
    let view = try Self.view()
    let key = PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "100")
    let transaction = ConsoleHit(kind: .transaction, publisherId: 7, purchase: key)
    let purchase = ConsoleHit(kind: .purchase, publisherId: 7, purchase: key)
    let customer = ConsoleHit(kind: .customer, publisherId: 7, customer: "100")
    // The first transaction of a purchase has its id: both open one page.
    #expect(FindPage(view: view, text: "100", hits: [transaction, purchase]).only == view.link(to: key))
    #expect(FindPage(view: view, text: "100", hits: [transaction, customer]).only == nil)
    #expect(
      FindPage(view: view, text: "100", hits: [customer]).only?.address == "/c/customers/7/100")
  }

  @Test func `a webhook's id opens the page of what was delivered`() throws {
    let view = try Self.view()
    let gone = ConsoleHit(kind: .delivery, publisherId: 7, detail: "purchaseUpdated")
    #expect(FindPage(view: view, text: "evt_1", hits: [gone]).only?.address == "/c/events/7/evt_1")
    let key = NotificationKey(publisherId: 7, uuid: "0a0b0c0d-0000-4000-8000-000000000001")
    let id = try #require(Delivery.id(of: key)).text
    let delivered = EventKey(publisherId: 7, id: EventId(id))
    #expect(FindPage(view: view, text: id, hits: [gone]).only == view.link(to: delivered))
    // The attempts are gone, and the notification is not.
    let kept = ConsoleHit(kind: .notification, publisherId: 7)
    #expect(FindPage(view: view, text: id, hits: [kept]).only == view.link(to: key))
  }

  /// Whoever registers a purchase chooses the id, perhaps one that support is going to look for.
  @Test(arguments: [ConsoleRole.viewer, .support])
  func `an id that a stranger chose opens no page`(role: ConsoleRole) throws {
    let view = try Self.view(role)
    let key = PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "100")
    let chosen = ConsoleHit(kind: .synchronization, publisherId: 7, customer: "evil", purchase: key)
    let transaction = ConsoleHit(kind: .transaction, publisherId: 7, purchase: key)
    let page = FindPage(view: view, text: "100", hits: [chosen])
    #expect(page.only == nil && FindPage(view: view, text: "100", hits: [chosen, chosen]).only == nil)
    #expect(page.html.contains(view.link(to: key).address) && page.html.contains("chooses the id"))
    // Apple's own id leads to the same page.
    #expect(FindPage(view: view, text: "100", hits: [chosen, transaction]).only == view.link(to: key))
  }

  @Test func `what could not be read is said, and the verdict stays`() throws {
    let purchase = AnsweredPurchases.purchase(AnsweredPurchases.transaction(), renewal: AnsweredPurchases.renewal())
    let view = try Self.view()
    func customer(_ timeline: ConsoleTimeline.Reading) -> CustomerPage {
      CustomerPage(
        view: view, customer: CustomerKey(publisherId: 7, id: "42"), rules: Self.rules(),
        holdings: CustomerPurchases(isKnown: true, version: 3, purchases: [purchase], grants: []),
        purchases: [purchase], timeline: timeline)
    }
    let slow = customer(ConsoleTimeline.Reading(moments: [Self.moment("told")], missing: [.event, .attempt]))
    #expect(slow.html.contains("events, attempts could not be read in time") && slow.html.contains("Has access"))
    #expect(slow.html.contains("told"))
    #expect(String(decoding: slow.json, as: UTF8.self).contains(#""timelineMissing":["event","attempt"]"#))
    #expect(!customer(ConsoleTimeline.Reading()).html.contains("could not be read"))
    let unread = PurchasePage(
      view: view, record: PurchaseRecord(purchase, ownerships: []), rules: Self.rules(), notifications: nil,
      evidence: nil
    ).html
    #expect(unread.contains("Notifications could not be read") && unread.contains("Signed data could not be read"))
    #expect(unread.contains("Gives access"))
  }

  @Test func `a picture keeps within its room`() {
    var facts = AnsweredPurchases.transaction(bought: .min, expires: .max)
    facts.revocationDate = .max
    let picture = LifePicture(AnsweredPurchases.purchase(facts), now: Self.now)
    for time in [Int64.min, 0, Self.now, .max] { #expect((0...1000).contains(picture.place(time))) }
    #expect(picture.html.source.contains("refunded"))
  }

  @Test func `a picture has the time of billing retry, and the owners`() throws {
    var (facts, renewal) = (AnsweredPurchases.transaction(), AnsweredPurchases.renewal())
    let (day, end) = (AnsweredPurchases.day, Self.now - 3 * AnsweredPurchases.day)
    facts.expiresDate = end
    func retry(_ isRetrying: Bool?, grace: Int64? = nil) -> Range<Int64>? {
      renewal.isInBillingRetry = isRetrying
      renewal.graceExpiresDate = grace
      return LifePicture(AnsweredPurchases.purchase(facts, renewal: renewal), now: Self.now).retry
    }
    #expect(retry(false) == nil && retry(nil) == nil)
    #expect(retry(true) == end..<Self.now)
    #expect(retry(true, grace: end + day) == (end + day)..<Self.now)
    #expect(retry(true, grace: Self.now + day) == nil && retry(true, grace: .min) == end..<Self.now)
    facts.expiresDate = nil
    #expect(retry(true) == nil)
    facts.expiresDate = end
    renewal.graceExpiresDate = nil
    let owners = [
      OwnershipPeriod(
        subscriptionId: 1, customerId: "secret", beganAt: Self.now - 9 * day, endedAt: Self.now - day, cause: "x"),
      OwnershipPeriod(subscriptionId: 2, customerId: nil, beganAt: Self.now - day, endedAt: nil, cause: "x"),
    ]
    let purchase = AnsweredPurchases.purchase(facts, renewal: renewal)
    let html = LifePicture(purchase, owners: owners, now: Self.now).html.source
    #expect(html.contains("class=\"retry\"") && html.contains("tried to charge again since"))
    #expect(html.ranges(of: "rect class=\"owned\"").count == 2 && html.contains("until now"))
    #expect(!html.contains("secret"))
  }

  @Test func `a list that is cut says so`() throws {
    let view = try Self.view()
    let purchase = AnsweredPurchases.purchase(AnsweredPurchases.transaction())
    func customer(_ purchases: Int, hasMore: Bool) -> CustomerPage {
      CustomerPage(
        view: view, customer: CustomerKey(publisherId: 7, id: "42"), rules: Self.rules(),
        holdings: CustomerPurchases(isKnown: true, version: 3, purchases: [purchase], grants: []),
        purchases: Array(repeating: purchase, count: purchases),
        timeline: ConsoleTimeline.Reading(moments: [Self.moment("told")], hasMore: hasMore))
    }
    let older = "Older ones are not shown."
    #expect(!customer(50, hasMore: false).html.contains(older))
    #expect(customer(51, hasMore: false).html.ranges(of: older).count == 1)
    #expect(customer(51, hasMore: true).html.ranges(of: older).count == 2)
    #expect(customer(51, hasMore: false).html.ranges(of: "/transfer\"").count == 50)
    func page(_ count: Int) -> PurchasePage {
      let piece = ConsoleEvidence(
        kind: "transaction", source: "client", signedAt: 0, receivedAt: 0, payload: [], header: "aGVhZA",
        signature: [1, 2])
      return PurchasePage(
        view: view, record: PurchaseRecord(purchase), rules: Self.rules(),
        notifications: Array(repeating: Self.moment("told"), count: count),
        evidence: Array(repeating: piece, count: count))
    }
    #expect(!page(25).html.contains(older) && page(26).html.ranges(of: older).count == 2)
    let cut = page(26).html
    #expect(cut.ranges(of: "As Apple signed it (JWS)").count == 25 && cut.contains("aGVhZA..AQI"))
  }

  @Test func `moments stand in order`() {
    func moment(_ at: Int64, _ id: String = "") -> ConsoleMoment {
      ConsoleMoment(kind: .event, at: at, what: "", id: id)
    }
    let sorted = ConsoleMoment.newestFirst([moment(1), moment(3, "a"), moment(2), moment(3, "b")], limit: 3)
    #expect(sorted.map(\.at) == [3, 3, 2] && sorted.map(\.id) == ["a", "b", ""])
  }
}

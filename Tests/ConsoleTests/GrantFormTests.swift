import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// Access by hand: what a form says, and what a preview shows.
struct GrantFormTests {
  private static let now = AnsweredPurchases.now
  private static let customer = CustomerKey(publisherId: 7, id: "42")
  private static let offers = OfferCatalog([Offer(id: "S1", productIds: ["monthly"], displayName: "Premium")])
  private static let limits = GrantLimits(longestDays: 30, openOfCustomer: 2, perDay: 3)

  private static func view(_ role: ConsoleRole = .support) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static func day(_ after: Int64) -> String {
    String(ConsoleTime.machine(now + after * 86_400_000).prefix(10))
  }

  private static func form(_ change: (inout GrantForm) -> Void = { _ in }) -> GrantForm {
    var form = GrantForm()
    (form.id, form.offer, form.until, form.reason) = (TestGrants.id(1).text, "S1", day(3), "goodwill")
    change(&form)
    return form
  }

  private static func grant(_ form: GrantForm) throws(GrantForm.Mistake) -> Grant {
    try form.grant(to: customer, offers: offers, limits: limits, now: now)
  }

  @Test func `a form is a grant until the end of its day`() throws {
    let grant = try Self.grant(Self.form { $0.note = "Ticket 4711" })
    #expect(grant.customer == Self.customer && grant.offerId == "S1" && grant.reason == .goodwill)
    #expect(grant.note == "Ticket 4711" && grant.createdAt == Self.now && grant.id == TestGrants.id(1))
    #expect(ConsoleTime.machine(grant.endsAt).hasPrefix(Self.day(4) + "T00:00:00"))
    // The form of the preview says the same again.
    var again = GrantForm()
    for (name, value) in Self.form({ $0.note = "Ticket 4711" }).hidden {
      switch name {
      case "grantId": again.id = value
      case "offerId": again.offer = value
      case "until": again.until = value
      case "reason": again.reason = value
      case "note": again.note = value
      default: Issue.record("\(name)")
      }
    }
    #expect(try Self.grant(again).isSameWish(as: grant))
    #expect(try Self.grant(Self.form()).note == nil)
    // Today is a day, and the limit's last one too.
    #expect(try Self.grant(Self.form { $0.until = Self.day(0) }).endsAt > Self.now)
    #expect(try Self.grant(Self.form { $0.until = Self.day(29) }).endsAt > Self.now)
  }

  @Test func `a form with a mistake says which`() {
    let mistakes: [((inout GrantForm) -> Void, String)] = [
      ({ $0.id = "" }, "not complete"), ({ $0.id = "x" }, "not complete"),
      ({ $0.offer = "S2" }, "no longer has this offer"),
      ({ $0.until = "" }, "last day"), ({ $0.until = "2026-02-30" }, "last day"),
      ({ $0.until = "2026-12-24T10:00:00Z" }, "last day"), ({ $0.until = Self.day(-1) }, "has passed"),
      ({ $0.until = Self.day(31) }, "30 days"), ({ $0.reason = "" }, "reason"), ({ $0.reason = "other" }, "reason"),
      ({ $0.note = String(repeating: "x", count: 501) }, "500"), ({ $0.note = "a\u{0}" }, "note"),
    ]
    for (change, words) in mistakes {
      do {
        let grant = try Self.grant(Self.form(change))
        Issue.record("\(grant) was read without \(words)")
      } catch {
        #expect(error.words.contains(words))
      }
    }
  }

  private static func preview(
    _ change: GrantPreview.Change, purchases: [Purchase] = [], grants: [Grant] = [], refusal: String? = nil
  ) throws -> GrantPreview {
    GrantPreview(
      view: try view(), change: change, form: form(), rules: AccessRules(offers: offers, allowsSandbox: true),
      holdings: CustomerPurchases(isKnown: true, version: 1, purchases: purchases, grants: grants), refusal: refusal)
  }

  @Test func `a preview shows what changes, and its button does it`() throws {
    let grant = try Self.grant(Self.form { $0.note = "<b>" })
    let give = try Self.preview(.give(grant))
    #expect(give.before == nil && give.after?.accessGranted == true && give.after?.grant == grant.id)
    #expect(give.html.contains("no access") && give.html.contains("Premium") && give.html.contains("&lt;b&gt;"))
    #expect(give.html.contains(#"action="/c/customers/7/42/grants""#) && give.html.contains(#"value="confirm""#))
    #expect(!give.html.contains("This changes nothing") && !give.html.contains("Not done"))
    let withdraw = try Self.preview(.withdraw(grant), grants: [grant], refusal: "The ledger did not answer.")
    #expect(withdraw.before?.accessGranted == true && withdraw.after?.accessGranted != true)
    #expect(withdraw.html.contains("/c/customers/7/42/grants/\(grant.id)/withdraw"))
    #expect(withdraw.html.contains("Not done") && withdraw.html.contains("The ledger did not answer."))
    let purchase = AnsweredPurchases.purchase(AnsweredPurchases.transaction(), renewal: AnsweredPurchases.renewal())
    #expect(try Self.preview(.give(grant), purchases: [purchase]).html.contains("This changes nothing"))
  }

  private static func page(_ role: ConsoleRole, _ grants: [Grant] = [], _ form: GrantForm? = nil) throws -> Document {
    var view = try view(role)
    if let form { view.refuse(.give(customer), form.hidden, "Choose a reason.") }
    return CustomerPage(
      view: view, customer: customer, rules: AccessRules(offers: offers, allowsSandbox: true),
      holdings: CustomerPurchases(isKnown: true, version: 1, purchases: [], grants: grants), purchases: [],
      timeline: ConsoleTimeline.Reading()
    ).html
  }

  @Test func `the customer's page has the forms for those who may act`() throws {
    let grant = try Self.grant(Self.form())
    for role in [ConsoleRole.support, .operator] {
      let page = try Self.page(role, [grant])
      #expect(page.contains("Grant access by hand") && page.contains("/grants/\(grant.id)/withdraw"))
    }
    let viewer = try Self.page(.viewer, [grant])
    #expect(!viewer.contains("Grant access by hand") && !viewer.contains("/withdraw"))
    var over = grant
    over.endsAt = Self.now
    #expect(try !Self.page(.support, [over]).contains("/withdraw"))
    // A refused form stays as it was filled in.
    let kept = try Self.page(.support, [], Self.form { ($0.note, $0.reason) = ("Ticket \"1\"", "promo") })
    for words in [
      "Not done", "Choose a reason.", "Ticket &quot;1&quot;", #"<option value="promo" selected="selected">"#,
      #"<option value="S1" selected="selected">Premium"#, #"<details open="open">"#, Self.day(3),
    ] {
      #expect(kept.contains(words), "\(words)")
    }
  }

  @Test func `each refusal of the ledger has words`() {
    let refusals: [GrantRefusal] = [.idInUse, .alreadyOver, .tooLong, .unknownOffer, .openOfCustomer, .perDay]
    #expect(Set(refusals.map { $0.words(Self.limits) }).count == refusals.count)
    #expect(GrantRefusal.openOfCustomer.words(Self.limits).contains("2 open grants"))
  }
}

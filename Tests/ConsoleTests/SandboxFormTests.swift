import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// Sandbox access by hand: what a form says, what a preview shows, and what the customer's page has.
struct SandboxFormTests {
  private static let now = AnsweredPurchases.now
  private static let customer = CustomerKey(publisherId: 7, id: "42")
  private static let offers = OfferCatalog([Offer(id: "S1", productIds: ["monthly"], displayName: "Premium")])
  private static let limits = SandboxOverrideLimits(longestDays: 30, customers: 3)

  private static func view(_ role: ConsoleRole = .support) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static func day(_ after: Int64) -> String {
    String(ConsoleTime.machine(now + after * 86_400_000).prefix(10))
  }

  private static func form(_ change: (inout SandboxForm) -> Void = { _ in }) -> SandboxForm {
    var form = SandboxForm()
    (form.until, form.reason) = (day(3), "testing")
    change(&form)
    return form
  }

  private static func override(_ form: SandboxForm) throws(SandboxForm.Mistake) -> SandboxOverride {
    try form.override(of: customer, limits: limits, now: now)
  }

  @Test func `a form is an override until the end of its day`() throws {
    let override = try Self.override(Self.form { $0.note = "Ticket 4711" })
    #expect(override.customer == Self.customer && override.reason == .testing && override.note == "Ticket 4711")
    #expect(ConsoleTime.machine(override.endsAt).hasPrefix(Self.day(4) + "T00:00:00"))
    let hidden = Self.form { $0.note = "Ticket 4711" }.hidden.map(\.name)
    #expect(hidden == ["until", "reason", "note"])
    #expect(try Self.override(Self.form()).note == nil)
    #expect(try Self.override(Self.form { $0.until = Self.day(0) }).endsAt > Self.now)
    #expect(try Self.override(Self.form { $0.until = Self.day(29) }).endsAt > Self.now)
  }

  @Test func `a form with a mistake says which`() {
    let mistakes: [((inout SandboxForm) -> Void, String)] = [
      ({ $0.until = "" }, "last day"), ({ $0.until = "2026-02-30" }, "last day"),
      ({ $0.until = "2026-12-24T10:00:00Z" }, "last day"), ({ $0.until = Self.day(-1) }, "has passed"),
      ({ $0.until = Self.day(31) }, "30 days"), ({ $0.reason = "" }, "reason"), ({ $0.reason = "goodwill" }, "reason"),
      ({ $0.note = String(repeating: "x", count: 501) }, "500"), ({ $0.note = "a\u{0}" }, "note"),
    ]
    for (change, words) in mistakes {
      do {
        let override = try Self.override(Self.form(change))
        Issue.record("\(override) was read without \(words)")
      } catch {
        #expect(error.words.contains(words))
      }
    }
    #expect(SandboxOverrideRefusal.tooMany.words(Self.limits).contains("3 customers"))
  }

  private static func preview(
    _ change: SandboxPreview.Change, allowsSandbox: Bool = false, until end: Int64? = nil, refusal: String? = nil
  ) throws -> SandboxPreview {
    var facts = AnsweredPurchases.transaction()
    facts.environment = .sandbox
    var purchase = TestPurchases.purchase(facts, owner: "42")
    purchase.owner?.sandboxUntil = end
    return SandboxPreview(
      view: try view(), change: change, form: form(),
      rules: AccessRules(offers: offers, allowsSandbox: allowsSandbox, sandboxUntil: end),
      holdings: CustomerPurchases(isKnown: true, version: 1, purchases: [purchase]), refusal: refusal)
  }

  @Test func `a preview shows what changes, and its button does it`() throws {
    let override = try Self.override(Self.form { $0.note = "<b>" })
    let set = try Self.preview(.set(override))
    #expect(set.before.isEmpty && set.after.map(\.offerId) == ["S1"])
    #expect(set.html.contains("no access") && set.html.contains("Premium") && set.html.contains("&lt;b&gt;"))
    #expect(set.html.contains(#"action="/c/customers/7/42/sandbox""#) && set.html.contains(#"value="confirm""#))
    let withdraw = try Self.preview(.withdraw(override), until: override.endsAt, refusal: "The ledger did not answer.")
    #expect(withdraw.before.map(\.offerId) == ["S1"] && withdraw.after.isEmpty)
    #expect(withdraw.html.contains(#"action="/c/customers/7/42/sandbox/withdraw""#))
    #expect(withdraw.html.contains("Not done") && withdraw.html.contains("The ledger did not answer."))
    let allowed = try Self.preview(.set(override), allowsSandbox: true)
    #expect(allowed.before == allowed.after && allowed.html.contains("This changes nothing"))
  }

  private static func page(
    _ role: ConsoleRole, _ last: SandboxOverride?, allowsSandbox: Bool = false, form: SandboxForm? = nil
  ) throws -> String {
    var view = try view(role)
    if let form { view.refuse(.allowSandbox(customer), form.hidden, "Choose a reason.") }
    let page = CustomerPage(
      view: view, customer: customer, rules: AccessRules(offers: offers, allowsSandbox: allowsSandbox),
      lastSandbox: last, holdings: CustomerPurchases(isKnown: true, version: 1), purchases: [],
      timeline: ConsoleTimeline.Reading())
    return page.html.text + String(decoding: page.json, as: UTF8.self)
  }

  @Test func `the customer's page says it, and has the forms for those who may act`() throws {
    let override = try Self.override(Self.form { $0.note = "Ticket <1>" })
    let page = try Self.page(.support, override)
    for words in [
      "Sandbox access by hand.", "Sandbox access until …", "Ticket &lt;1&gt;", "/c/customers/7/42/sandbox/withdraw",
      #""sandboxAccessUntil":""#,
    ] {
      #expect(page.contains(words), "\(words)")
    }
    let viewer = try Self.page(.viewer, override)
    #expect(viewer.contains("Sandbox access by hand.") && !viewer.contains("/sandbox"))
    var over = override
    over.endedAt = override.endsAt
    for last in [nil, over] {
      let page = try Self.page(.support, last)
      #expect(!page.contains("Sandbox access by hand.") && !page.contains("/sandbox/withdraw"))
      #expect(page.contains("Sandbox access until …") && !page.contains("sandboxAccessUntil"))
    }
    // What the file allows decides, whatever is set.
    let allowed = try Self.page(.support, override, allowsSandbox: true)
    #expect(!allowed.contains("Sandbox access by hand.") && allowed.contains("without an end"))
    // A refused form stays as it was filled in.
    let kept = try Self.page(.support, nil, form: Self.form { $0.note = "Ticket \"1\"" })
    #expect(kept.contains("Ticket &quot;1&quot;") && kept.contains(#"<details open="open">"#))
    #expect(kept.contains(#"<option value="testing" selected="selected">"#))
  }
}

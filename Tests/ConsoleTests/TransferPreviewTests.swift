import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// What a person sees before a purchase gets another owner.
struct TransferPreviewTests {
  private static let now = AnsweredPurchases.now
  private static let (ann, ben) = (CustomerKey(publisherId: 7, id: "42"), CustomerKey(publisherId: 7, id: "<ben>"))
  private static let rules = AccessRules(
    offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"], displayName: "Premium & more")]), allowsSandbox: true
  )
  private static let one = AnsweredPurchases.purchase(
    AnsweredPurchases.transaction(), renewal: AnsweredPurchases.renewal())
  private static let longer = AnsweredPurchases.purchase(
    AnsweredPurchases.transaction("201", of: "200", expires: now + 90 * AnsweredPurchases.day), owner: "<ben>")
  private static let over = AnsweredPurchases.purchase(
    AnsweredPurchases.transaction(expires: now - AnsweredPurchases.day))

  private static func side(
    _ customer: CustomerKey, _ held: [Purchase], isKnown: Bool = true
  ) -> TransferPreview.Side {
    TransferPreview.Side(
      customer: customer, rules: rules, holdings: CustomerPurchases(isKnown: isKnown, version: 1, purchases: held))
  }

  private static func preview(
    _ purchase: Purchase = one, from: [Purchase]? = [one], to: [Purchase] = [], at customer: CustomerKey = ben,
    isKnown: Bool = true, _ refusal: String? = nil
  ) throws -> TransferPreview {
    let person = ConsolePerson(name: "ada", role: .support, publishers: .all, password: try Scrypt.ofNobody())
    return TransferPreview(
      view: ConsoleView(prefix: "/c", person: person, now: now), purchase: purchase,
      from: from.map { side(ann, $0) }, to: side(customer, to, isKnown: isKnown), id: "0123", refusal: refusal)
  }

  private static func words(_ preview: TransferPreview) -> [String] {
    preview.differences.map { one in
      "\(one.customer.id) \(one.offer) \(one.before?.accessGranted ?? false) \(one.after?.accessGranted ?? false)"
    }
  }

  @Test func `both sides lose and get what nothing else gives`() throws {
    #expect(try Self.words(Self.preview()) == ["42 S1 true false", "<ben> S1 false true"])
    // Another purchase gives it longer already.
    #expect(try Self.words(Self.preview(to: [Self.longer])) == ["42 S1 true false"])
    let second = AnsweredPurchases.purchase(
      AnsweredPurchases.transaction("201", of: "200", expires: Self.now + AnsweredPurchases.day))
    let part = try Self.preview(from: [Self.one, second])
    #expect(Self.words(part) == ["42 S1 true true", "<ben> S1 false true"])
    #expect(part.differences[0].after?.expiresAt == Self.now + AnsweredPurchases.day)
    #expect(try Self.words(Self.preview(from: nil)) == ["<ben> S1 false true"])
    #expect(try Self.preview(Self.over, from: [Self.over], to: [Self.longer]).differences.isEmpty)
  }

  @Test func `the domain decides what the page says`() throws {
    #expect(try Self.preview().decision == .transferred && Self.preview().decision.refusal == nil)
    #expect(try Self.preview(at: Self.ann).decision == .unchanged)
    let over = try Self.preview(Self.over, from: [Self.over])
    #expect(over.decision == .notActive && over.decision.refusal?.contains("Release it instead") == true)
  }

  @Test func `the preview names both, and what it makes`() throws {
    let page = try Self.preview().html
    #expect(page.contains(#"action="/c/purchases/7/Production/100/transfer""#) && !page.contains("<ben>"))
    #expect(page.contains(#"name="to" value="&lt;ben&gt;""#) && page.contains(#"name="id" value="0123""#))
    #expect(page.contains(#"name="subscriptionId" value="1801""#) && page.contains("Premium &amp; more"))
    #expect(page.contains("name=\"seen\" value=\"\(Self.now)\"") && page.contains(#"name="transactionId" value="#))
    #expect(page.contains("access, by a purchase, until ") && !page.contains("Not done") && !page.contains("New here"))
    #expect(try Self.preview(isKnown: false, "Somebody else").html.contains("New here"))
    #expect(try Self.preview(isKnown: false, "Somebody else").html.contains("Somebody else"))
    #expect(try Self.preview(to: [Self.longer]).html.contains("/c/customers/7/%3Cben%3E"))
  }

  @Test func `the question keeps what was typed`() throws {
    let view = try Self.preview().view
    let page = TransferPreview.question(Self.one, to: "<b>", "Nobody has it.", view).html
    #expect(page.contains(#"value="&lt;b&gt;""#) && page.contains("Nobody has it.") && !page.contains("<b>"))
    #expect(page.contains(#"name="step" value="preview""#) && page.contains(">Preview</button>"))
  }
}

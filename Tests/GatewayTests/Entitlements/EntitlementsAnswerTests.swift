import Domain
import DomainSupport
import Ledger
import Testing

@testable import Gateway

/// The bytes of answers about entitlements.
struct EntitlementsAnswerTests {
  private typealias Given = AnsweredPurchases

  private func answer(
    _ customer: CustomerId = "42", _ purchases: Purchase..., version: Int64 = 5,
    by publisher: Publisher = Given.publisher()
  ) -> EntitlementsAnswer {
    EntitlementsAnswer(
      CustomerKey(publisherId: 7, id: customer),
      CustomerPurchases(isKnown: true, version: version, purchases: purchases), publisher, now: Given.now)
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  private let subscription = Given.purchase(Given.transaction(), renewal: Given.renewal())

  @Test func `the list has each offer that a purchase is for`() {
    let pass = Given.purchase(Given.transaction("201", of: "200", "pass", .nonRenewing, expires: nil), version: 1)
    #expect(
      text(answer("42", pass, subscription).list) == """
        {"asOf":"2026-11-22T10:00:00.000Z","cleengCustomerId":42,"customerId":"42","customerVersion":5,"entitlements":[\
        {"accessGranted":true,"billingProblem":false,"environment":"Production","offerId":"P1",\
        "purchase":{"environment":"Production","originalTransactionId":"200","version":1},"rule":"passActive"},\
        {"accessGranted":true,"billingProblem":false,"environment":"Production",\
        "expiresAt":"2026-12-12T10:00:00.000Z","offerId":"S1",\
        "purchase":{"environment":"Production","originalTransactionId":"100","version":3},\
        "rule":"subscriptionActive","willRenew":true}]}
        """)
  }

  @Test func `a customer without purchases has an empty list`() {
    #expect(
      text(answer("user \"é\"", version: 0).list) == """
        {"asOf":"2026-11-22T10:00:00.000Z","customerId":"user \\"é\\"","customerVersion":0,"entitlements":[]}
        """)
  }

  @Test func `one offer`() {
    #expect(
      text(answer("42", subscription).one("S1")) == """
        {"accessGranted":true,"asOf":"2026-11-22T10:00:00.000Z","billingProblem":false,"cleengCustomerId":42,\
        "customerId":"42","customerVersion":5,"environment":"Production","expiresAt":"2026-12-12T10:00:00.000Z",\
        "offerId":"S1","purchase":{"environment":"Production","originalTransactionId":"100","version":3},\
        "rule":"subscriptionActive","willRenew":true}
        """)
  }

  @Test func `an offer without a purchase gives no access`() {
    #expect(
      text(answer("42", subscription).one("P1")) == """
        {"accessGranted":false,"asOf":"2026-11-22T10:00:00.000Z","billingProblem":false,"cleengCustomerId":42,\
        "customerId":"42","customerVersion":5,"offerId":"P1","rule":"noPurchase"}
        """)
    #expect(AccessRule.known.contains(.noPurchase))
  }

  @Test func `the publisher's present rules count`() {
    let moved = Given.publisher([Offer(id: "S2", productIds: ["monthly"])])
    #expect(answer("42", subscription, by: moved).entitlements.map(\.offerId) == ["S2"])
    let sandbox = Given.purchase(Given.transaction(in: "Sandbox"))
    #expect(answer("42", sandbox).entitlements.map(\.rule) == [.sandboxNotAllowed])
    let allowing = Given.publisher(sandbox: .customers(["42"]))
    #expect(answer("42", sandbox, by: allowing).entitlements.map(\.accessGranted) == [true])
  }

  @Test func `a silly date stops nothing`() {
    for (date, shown) in [
      (Int64.max, "9999-12-31T23:59:59.999Z"), (.min, "1970-01-01T00:00:00.000Z"), (-1, "1970-01-01T00:00:00.000Z"),
    ] {
      let purchase = Given.purchase(Given.transaction(expires: date))
      // The smallest number means that there is no end to tell.
      let expected = date == .min ? nil : shown
      let list = text(answer("42", purchase).list)
      #expect(list.contains("expiresAt") == (expected != nil))
      if let expected { #expect(list.contains(#""expiresAt":"\#(expected)""#)) }
    }
  }
}

import Domain
import DomainSupport
import Testing

/// The names of purchases and their order.
struct PurchaseKeyTests {
  /// The order in which commits lock: another order could lock two commits against each other.
  @Test func `keys are ordered by publisher, environment and id, by bytes`() {
    let ordered = [
      TestPurchases.key("2", in: "Sandbox", of: 1), TestPurchases.key("10", in: "Production", of: 2),
      TestPurchases.key("2", in: "Production", of: 2), TestPurchases.key("1", in: "Sandbox", of: 2),
      TestPurchases.key("1", in: "\u{212A}", of: 2), TestPurchases.key("0", of: 10),
    ]
    #expect(ordered.reversed().sorted() == ordered)
    for (index, key) in ordered.enumerated() {
      #expect(!(key < key))
      for later in ordered[(index + 1)...] { #expect(key < later && !(later < key) && key != later) }
    }
  }

  /// U+212A (KELVIN SIGN) equals `K` as a Swift `String`.
  @Test func `keys are their bytes`() {
    #expect(TestPurchases.key("1", in: "K") == TestPurchases.key("1", in: "K"))
    #expect(TestPurchases.key("1", in: "K") != TestPurchases.key("1", in: "\u{212A}"))
    #expect(TestPurchases.key("K") != TestPurchases.key("\u{212A}"))
    #expect(Set([TestPurchases.key("K"), TestPurchases.key("\u{212A}"), TestPurchases.key("K")]).count == 2)
  }

  @Test func `evidence names its purchase`() {
    let transaction = TestPurchases.transaction("5", of: "4", in: "Sandbox", signed: 3, digest: 8)
    let renewal = TestPurchases.renewal(of: "4", in: "Sandbox", signed: 2, digest: 9)
    for (facts, day, digest) in [
      (Evidence.Facts.transaction(transaction), 3.0, UInt8(8)), (.renewalInfo(renewal, status: nil), 2, 9),
    ] {
      let evidence = TestPurchases.evidence(facts)
      #expect(evidence.key(of: 9) == TestPurchases.key("4", in: "Sandbox", of: 9))
      #expect(evidence.signedDate == TestPurchases.at(day))
      #expect(evidence.payloadSHA256 == [digest])
    }
  }
}

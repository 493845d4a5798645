import Domain
import Testing

/// The ids that a person reads from Apple's receipt.
struct OrderIdTests {
  @Test(arguments: [
    ("MK5TTTVWJH", "MK5TTTVWJH"), ("mk5tttvwjh", "MK5TTTVWJH"), ("1", "1"), ("", nil), ("MK5 TTV", nil),
    ("MK5/../X", nil), ("MK5?a=b", nil), ("MK5%2F", nil), ("MÖ5", nil), ("M\u{0}5", nil), ("M@[`{", nil),
  ])
  func `what a person writes is read in Apple's form`(written: String, id: String?) {
    #expect(OrderId(written: written)?.text == id)
  }

  @Test func `an id has a length`() {
    let longest = String(repeating: "A", count: OrderId.longest)
    #expect(OrderId(written: longest)?.text == longest)
    #expect(OrderId(written: longest + "A") == nil)
  }

  @Test func `only Apple's form may enter a call`() {
    #expect(OrderId("MK5TTTVWJH").isValid)
    for other in ["mk5tttvwjh", "", "MK5/X"] { #expect(!OrderId(other).isValid) }
  }
}

import Domain
import Testing

/// The customers whose purchases from the sandbox count.
struct SandboxAccessTests {
  @Test func `sandbox access is nobody's, everybody's, or that of listed customers`() {
    #expect(!SandboxAccess.nobody.allows("42"))
    #expect(SandboxAccess.everybody.allows("42"))
    let listed = SandboxAccess.customers(["42", "7"])
    #expect(listed.allows("42") && listed.allows("7") && !listed.allows("4") && !listed.allows("427"))
    #expect(!listed.allows("07"))
    #expect(!SandboxAccess.customers([CustomerId]()).allows("0"))
    let publisher = Publisher(
      id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
      offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), sandboxAccess: listed,
      webhooks: [])
    let (seven, eight) = (
      publisher.accessRules(for: "7", sandboxUntil: nil), publisher.accessRules(for: "8", sandboxUntil: 5)
    )
    #expect(seven.allowsSandbox && !eight.allowsSandbox && seven.sandboxUntil == nil && eight.sandboxUntil == 5)
    #expect(eight.offers.contains("S1"))
  }
}

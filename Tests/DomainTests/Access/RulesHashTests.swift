import Domain
import Testing

/// The hash of a publisher's rules.
struct RulesHashTests {
  private func hash(_ offers: [Offer], _ sandbox: SandboxAccess = .nobody) -> [UInt8] {
    Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog(offers),
      sandboxAccess: sandbox, webhooks: []
    ).rulesSHA256
  }

  private let month = Offer(id: "S1", productIds: ["a", "b"])
  private let pass = Offer(id: "P1", productIds: ["c"], accessDays: 30)

  @Test func `the order in the file does not matter`() {
    #expect(hash([month, pass]) == hash([pass, Offer(id: "S1", productIds: ["b", "a"])]))
    #expect(hash([], .customers(["1", "2"])) == hash([], .customers(["2", "1"])))
    #expect(hash([month]).count == 32)
  }

  @Test func `each rule counts`() {
    let different: [[UInt8]] = [
      hash([]), hash([month]), hash([month, pass]), hash([Offer(id: "S2", productIds: ["a", "b"])]),
      hash([Offer(id: "S1", productIds: ["a"])]), hash([month, Offer(id: "P1", productIds: ["c"])]),
      hash([month, Offer(id: "P1", productIds: ["c"], accessDays: 31)]), hash([month], .everybody),
      hash([month], .customers([])), hash([month], .customers(["1"])), hash([month], .customers(["1", "2"])),
      hash([month], .customers(["12"])),
    ]
    #expect(Set(different).count == different.count)
  }
}

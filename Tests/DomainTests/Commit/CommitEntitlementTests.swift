import Domain
import DomainSupport
import Formats
import Testing

/// What a commit tells about changed entitlements.
struct CommitEntitlementTests {
  private let key = TestPurchases.key()
  private let active = TestPurchases.transaction(expires: 30)

  private func told(_ granted: Bool = true, expires: Double? = 30, _ offer: OfferId = "S1") -> ToldEntitlement {
    ToldEntitlement(
      offerId: offer, accessGranted: granted, expiresAt: expires.map(TestPurchases.at), environment: "Production")
  }

  private func known(_ version: Int64, _ told: ToldEntitlement..., others: [Purchase] = []) -> CustomerRecord {
    CustomerRecord(isKnown: true, version: version, told: told, others: others)
  }

  @Test func `a registration tells the customer's access`() {
    var commit = TestCommit()
    #expect(commit.evidence(TestCommit.job(), active).changes == [ToldChange("me", 1, "S1", "registration", nil, true)])
    #expect(commit["me"].version == 1 && commit["me"].told == [told()])
    #expect(commit.state.changes.customers == [TestCommit.customer("me")])
  }

  @Test func `an equal entitlement is not told again`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "me")], ["me": known(3, told())])
    #expect(commit.evidence(TestCommit.job(), active).changes.isEmpty)
    #expect(commit["me"].version == 3 && commit.state.changes.customers.isEmpty)
  }

  @Test func `a move tells both customers`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "you")], ["you": known(3, told()), "me": known(8)])
    let done = commit.finalize(TestCommit.job("me", "1", .transfer), .known(key))
    #expect(
      done.changes == [
        ToldChange("you", 4, "S1", "transfer", true, nil), ToldChange("me", 9, "S1", "transfer", nil, true),
      ])
    #expect(commit["you"].told.isEmpty && commit["me"].told == [told()])
    #expect(commit.state.changes.customers == [TestCommit.customer("me"), TestCommit.customer("you")])
  }

  @Test func `an old owner keeps the offer of another purchase`() {
    let other = TestPurchases.purchase(TestPurchases.transaction("5", of: "5", expires: 20), owner: "you")
    var commit = TestCommit(
      [TestPurchases.purchase(active, owner: "you")], ["you": known(3, told(), others: [other])],
      ownership: OwnershipPolicy(restore: .transfer))
    let done = commit.finalize(.known(key))
    #expect(
      done.changes == [
        ToldChange("you", 4, "S1", "transfer", true, true), ToldChange("me", 1, "S1", "transfer", nil, true),
      ])
    #expect(commit["you"].told == [told(expires: 20)])
  }

  @Test func `a refused customer's evidence tells the owner`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "you")], ["you": known(3, told())])
    let refunded = TestPurchases.transaction(expires: 30, revoked: 3, signed: 3, digest: 1)
    let done = commit.evidence(TestCommit.job(), refunded)
    #expect(done.code == .purchaseRevoked)
    #expect(done.changes == [ToldChange("you", 4, "S1", "evidence", true, false)])
    #expect(commit["me"].version == 0 && commit.state.changes.customers == [TestCommit.customer("you")])
  }

  @Test func `an owner whom nothing was told yet is told`() {
    // The ledger knows the owner, because a purchase without access began the ownership.
    let ended = TestPurchases.transaction(expires: 5)
    var commit = TestCommit([TestPurchases.purchase(ended, owner: "you")], ["you": known(0)])
    let done = commit.evidence(
      TestCommit.job("me", "2"), TestPurchases.transaction("2", bought: 6, expires: 40))
    #expect(done.changes == [ToldChange("you", 1, "S1", "evidence", nil, true)])
  }

  @Test func `a transfer that changes no owner tells evidence`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "me")], ["me": known(1, told(expires: 20))])
    let done = commit.finalize(TestCommit.job("me", "1", .transfer), .known(key))
    #expect(done.changes == [ToldChange("me", 2, "S1", "evidence", true, true)])
  }

  @Test func `an access that has ended since is told`() {
    var commit = TestCommit(
      [TestPurchases.purchase(active, owner: "me")], ["me": known(1, told())], now: 31)
    let done = commit.finalize(.known(key))
    #expect(done.code == .receivedExpiredPurchase)
    #expect(done.changes == [ToldChange("me", 2, "S1", "registration", true, false)])
  }

  @Test func `two jobs of one batch about one customer count on`() {
    var commit = TestCommit([], ["me": known(5)])
    let one = commit.evidence(TestCommit.job(), active)
    let lifetime = TestPurchases.transaction("8", of: "8", .nonConsumable, "lifetime")
    let other = commit.evidence(TestCommit.job("me", "8", id: "s2"), lifetime)
    #expect(one.changes == [ToldChange("me", 6, "S1", "registration", nil, true)])
    #expect(other.changes == [ToldChange("me", 7, "L1", "registration", nil, true)])
    #expect(commit["me"].told == [told(expires: nil, "L1"), told()])
    #expect(Set((one.events + other.events).map(\.id)).count == 4)
    #expect(commit.state.changes.events == one.events + other.events)
  }

  @Test func `a purchase that a batch has locked counts once`() {
    // The statement that reads a customer's purchases finds the locked one, too.
    let locked = TestPurchases.purchase(active, owner: "me")
    var commit = TestCommit([locked], ["me": known(1, told(), others: [locked])])
    let refunded = TestPurchases.transaction(expires: 30, revoked: 3, signed: 3, digest: 1)
    #expect(
      commit.evidence(TestCommit.job(), refunded).changes == [ToldChange("me", 2, "S1", "registration", true, false)])
  }

  @Test func `a consumable is no entitlement`() {
    let coins = TestPurchases.transaction("1", .consumable, "coins")
    let purchase = TestPurchases.purchase(coins, owner: "me")
    let rules = AccessRules(offers: TestCommit.offers, allowsSandbox: false)
    #expect(Entitlements.of(purchases: [purchase], grants: [], rules: rules, now: TestPurchases.at(10)).isEmpty)
    #expect(Access.of(purchase, rules: rules, now: TestPurchases.at(10)).isGranted)
  }

  @Test func `the sandbox counts for whom the publisher allows it`() {
    for allowed: [CustomerId] in [["me"], ["you"]] {
      var commit = TestCommit(sandboxAccess: .customers(allowed))
      let done = commit.evidence(TestCommit.job(), TestPurchases.transaction(in: "Sandbox", expires: 30))
      #expect(done.code == (allowed == ["me"] ? .purchaseSynchronized : .sandboxNotAllowed))
      #expect(done.changes.count == (allowed == ["me"] ? 1 : 0))
    }
  }
}

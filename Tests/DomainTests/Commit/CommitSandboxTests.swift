import Domain
import DomainSupport
import Testing

/// Commits about an override of the publisher's `sandboxAccess`, and about purchases while one is in force.
struct CommitSandboxTests {
  private typealias T = TestPurchases
  private let me = TestCommit.customer("me")
  private let active = T.transaction(in: "Sandbox", expires: 30)

  private func override(until end: Double, ended: Double? = nil) -> SandboxOverride {
    SandboxOverride(
      customer: me, endsAt: T.at(end), reason: .testing, setAt: T.at(5), endedAt: ended.map(T.at))
  }

  private func owned() -> Purchase { T.purchase(active, owner: "me") }

  private func record(_ told: ToldEntitlement..., until end: Double? = nil, owning: Purchase...) -> CustomerRecord {
    CustomerRecord(isKnown: true, version: 4, told: told, others: owning, sandboxUntil: end.map(T.at))
  }

  private func told(until end: Double) -> ToldEntitlement {
    ToldEntitlement(offerId: "S1", accessGranted: true, expiresAt: T.at(end), environment: "Sandbox")
  }

  private func changes(_ commit: TestCommit) throws -> [ToldChange] {
    try commit.state.changes.events.map(ToldChange.init)
  }

  // MARK: Setting and ending

  @Test func `an override gives access by a purchase that the customer owns, and tells it`() throws {
    var commit = TestCommit([], ["me": record(owning: owned())])
    let publisher = try #require(commit.publisher)
    try commit.state.allowSandbox(
      override(until: 20), limits: SandboxOverrideLimits(), publisher: publisher, traceparent: nil)
    #expect(try changes(commit) == [ToldChange("me", 5, "S1", "sandboxAccess", nil, true)])
    #expect(commit["me"].told == [told(until: 20)] && commit["me"].sandboxUntil == T.at(20))
    #expect(commit.state.changes.changedPurchases.isEmpty && commit.state.changes.evidence.isEmpty)
  }

  @Test func `without a purchase an override tells nothing, and makes the customer known`() throws {
    var commit = TestCommit()
    let publisher = try #require(commit.publisher)
    try commit.state.allowSandbox(
      override(until: 20), limits: SandboxOverrideLimits(), publisher: publisher, traceparent: nil)
    #expect(commit.state.changes.events.isEmpty && commit.state.changes.customers == [me])
  }

  @Test func `the end is in the future, and not too far away`() throws {
    let limits = SandboxOverrideLimits(longestDays: 90)
    for (end, expected) in [
      (10, .alreadyOver), (9, .alreadyOver), (10.001, nil), (100, nil), (100.001, .tooLong),
    ] as [(Double, SandboxOverrideRefusal?)] {
      var state = TestCommit().state
      let publisher = try #require(TestCommit().publisher)
      var refusal: SandboxOverrideRefusal?
      do {
        try state.allowSandbox(override(until: end), limits: limits, publisher: publisher, traceparent: nil)
      } catch {
        refusal = error
      }
      #expect(refusal == expected, "\(end)")
    }
  }

  @Test func `one that is brought tells only if the import tells, and has the limits`() throws {
    let limits = SandboxOverrideLimits(longestDays: 90)
    for isTold in [false, true] {
      var commit = TestCommit([], ["me": record(owning: owned())])
      let publisher = try #require(commit.publisher)
      try commit.state.bringSandbox(override(until: 20), isTold: isTold, limits: limits, publisher: publisher)
      #expect(try changes(commit) == (isTold ? [ToldChange("me", 5, "S1", "sandboxAccess", nil, true)] : []))
      // What is not told counts as told.
      #expect(commit["me"].told == [told(until: 20)] && commit["me"].sandboxUntil == T.at(20))
      // What comes after is told again.
      let withdrawn = commit.state.withdrawSandbox(override(until: 20), publisher: publisher, traceparent: nil)
      #expect(withdrawn != nil && commit.state.changes.events.count == (isTold ? 2 : 1))
      var other = TestCommit([], ["me": record(owning: owned())])
      for (end, refusal) in [(9.0, SandboxOverrideRefusal.alreadyOver), (101, .tooLong)] {
        #expect(throws: refusal) {
          try other.state.bringSandbox(override(until: end), isTold: isTold, limits: limits, publisher: publisher)
        }
      }
      #expect(other["me"].sandboxUntil == nil && other.state.changes.events.isEmpty)
    }
  }

  @Test func `withdrawing ends the access, once`() throws {
    var commit = TestCommit([], ["me": record(told(until: 20), until: 20, owning: owned())])
    let publisher = try #require(commit.publisher)
    let withdrawn = commit.state.withdrawSandbox(override(until: 20), publisher: publisher, traceparent: nil)
    #expect(withdrawn?.endedAt == T.at(10) && withdrawn?.state(at: T.at(10)) == .withdrawn)
    #expect(try changes(commit) == [ToldChange("me", 5, "S1", "sandboxAccess", true, false)])
    #expect(commit["me"].sandboxUntil == nil)
    let again = commit.state.withdrawSandbox(
      override(until: 20, ended: 10), publisher: publisher, traceparent: nil)
    #expect(again == nil)
    let over = commit.state.withdrawSandbox(override(until: 10), publisher: publisher, traceparent: nil)
    #expect(over == nil && commit.state.changes.events.count == 1)
  }

  @Test func `the end by the clock is told once, and not before it`() throws {
    var commit = TestCommit([], ["me": record(told(until: 10), until: 10, owning: owned())])
    let publisher = try #require(commit.publisher)
    #expect(commit.state.endSandbox(override(until: 10.001), publisher: publisher) == nil)
    #expect(commit.state.endSandbox(override(until: 10, ended: 10), publisher: publisher) == nil)
    #expect(commit.state.changes.events.isEmpty)
    let ended = commit.state.endSandbox(override(until: 10), publisher: publisher)
    #expect(ended?.state(at: T.at(10)) == .ended)
    #expect(try changes(commit) == [ToldChange("me", 5, "S1", "sandboxAccess", true, false)])
  }

  @Test func `what the publisher's file allows stays as it is`() throws {
    let allowed = Entitlements.of(
      purchases: [owned()], grants: [], rules: AccessRules(offers: TestCommit.offers, allowsSandbox: true),
      now: T.at(10)
    ).map(\.told)
    var known = record(owning: owned())
    known.told = allowed
    var commit = TestCommit([], ["me": known], sandboxAccess: .everybody)
    let publisher = try #require(commit.publisher)
    try commit.state.allowSandbox(
      override(until: 20), limits: SandboxOverrideLimits(), publisher: publisher, traceparent: nil)
    let withdrawn = commit.state.withdrawSandbox(override(until: 20), publisher: publisher, traceparent: nil)
    #expect(withdrawn != nil && commit.state.changes.events.isEmpty && commit["me"].told == allowed)
  }

  // MARK: Purchases meanwhile

  @Test func `a registration while it is in force gives access until its end`() {
    for (end, code) in [(20, .purchaseSynchronized), (10, .sandboxNotAllowed)] as [(Double, ResultCode)] {
      var commit = TestCommit([], ["me": record(until: end)])
      let done = commit.evidence(TestCommit.job(), active)
      #expect(done.code == code)
      let change = ToldChange("me", 5, "S1", "registration", nil, true)
      #expect(done.changes == (code == .purchaseSynchronized ? [change] : []))
      #expect(commit[purchase: T.key(in: "Sandbox")]?.owner?.sandboxUntil == T.at(end))
      if code == .purchaseSynchronized { #expect(commit["me"].told == [told(until: 20)]) }
    }
  }

  @Test func `another registration of a refused purchase gives access`() {
    var commit = TestCommit()
    #expect(commit.evidence(TestCommit.job(), active).code == .sandboxNotAllowed)
    let refused = commit[purchase: T.key(in: "Sandbox")]
    var later = TestCommit(refused.map { [$0] } ?? [], ["me": record(until: 20)])
    #expect(later.finalize(TestCommit.job(id: "s2"), .known(T.key(in: "Sandbox"))).code == .purchaseSynchronized)
  }

  @Test func `another customer's override gives nothing`() {
    var commit = TestCommit([owned()], ["me": record(until: 20), "you": CustomerRecord(isKnown: true)])
    let done = commit.evidence(TestCommit.job("you", id: "s2"), active)
    #expect(done.result?.accessGranted == false)
  }

  @Test func `a renewal follows the override`() {
    var commit = TestCommit([owned()], ["me": record(told(until: 30), until: 50)])
    let renewed = T.transaction("2", in: "Sandbox", bought: 9, expires: 60)
    let done = commit.evidence(TestCommit.job("me", "2", id: "s2"), renewed)
    #expect(done.code == .purchaseSynchronized)
    #expect(commit["me"].told == [told(until: 50)])
  }

  @Test func `a commit takes the override of the locked customer, and not the one read with the purchase`() {
    var stale = owned()
    stale.owner?.sandboxUntil = T.at(20)
    let commit = TestCommit([stale], ["me": record()])
    #expect(commit[purchase: stale.key]?.owner?.sandboxUntil == nil)
    let other = TestCommit([owned()], ["me": record(until: 25)])
    #expect(other[purchase: stale.key]?.owner?.sandboxUntil == T.at(25))
  }

  @Test func `the end of an override is no end of the purchase`() {
    var purchase = owned()
    purchase.updatedAt = T.at(5)
    var commit = TestCommit([purchase], ["me": record(told(until: 9), until: 9)])
    let done = commit.finalize(TestCommit.job(id: "s2"), .known(T.key(in: "Sandbox")))
    #expect(done.code == .sandboxNotAllowed)
    #expect(!done.events.contains { $0.topic == EventTopic.purchaseUpdated })
  }
}

import Domain
import DomainSupport
import Testing

/// Commits about access by hand.
struct CommitGrantTests {
  private typealias T = TestPurchases
  private let me = TestCommit.customer("me")

  private func refusal(_ grant: Grant, _ commit: TestCommit, _ limits: GrantLimits = GrantLimits()) -> GrantRefusal? {
    var state = commit.state
    guard let publisher = commit.publisher else { return nil }
    do {
      try state.give(grant, limits: limits, publisher: publisher, traceparent: nil)
      return nil
    } catch {
      #expect(state.customers == commit.state.customers && state.changes.events.isEmpty)
      return error
    }
  }

  @Test func `giving tells the customer's new access`() throws {
    var commit = TestCommit()
    let publisher = try #require(commit.publisher)
    try commit.state.give(TestGrants.grant(until: 20), limits: GrantLimits(), publisher: publisher, traceparent: nil)
    #expect(try commit.state.changes.events.map(ToldChange.init) == [ToldChange("me", 1, "S1", "grant", nil, true)])
    #expect(commit["me"].version == 1 && commit.state.changes.customers == [me])
    #expect(commit.state.changes.changedPurchases.isEmpty && commit.state.changes.evidence.isEmpty)
  }

  @Test func `a grant from another fleet counts as told, and no limit stands against it`() throws {
    let grants = (1...20).map { TestGrants.grant($0, until: 900) }
    var (silent, told) = (TestCommit(), TestCommit())
    let publisher = try #require(silent.publisher)
    for grant in grants {
      try silent.state.bring(grant, isTold: false, publisher: publisher)
      try told.state.bring(grant, isTold: true, publisher: publisher)
    }
    #expect(silent.state.changes.events.isEmpty)
    #expect(try told.state.changes.events.map(ToldChange.init) == [ToldChange("me", 1, "S1", "grant", nil, true)])
    #expect(silent["me"].told == told["me"].told && silent["me"].told.map(\.accessGranted) == [true])
    // Its end is news.
    for grant in grants {
      _ = silent.state.withdraw(grant.id, of: me, publisher: publisher, traceparent: nil)
    }
    #expect(try silent.state.changes.events.map(ToldChange.init).map(\.after) == [nil])
    for (grant, refusal) in [
      (TestGrants.grant(until: 10), GrantRefusal.alreadyOver), (TestGrants.grant(of: "none", until: 20), .unknownOffer),
    ] {
      #expect(throws: refusal) { try silent.state.bring(grant, isTold: true, publisher: publisher) }
    }
  }

  @Test func `a grant from another fleet keeps to the most that a customer may have`() throws {
    let cases: [(Int, Double, GrantRefusal?)] = [
      (999, 20, nil), (1000, 20, .openOfCustomer), (1001, 20, .openOfCustomer), (1000, 10, nil),
    ]
    for (count, ended, expected) in cases {
      let grants = (1...count).map { TestGrants.grant($0, until: $0 == 1 ? ended : 20) }
      var held = TestCommit([], ["me": CustomerRecord(isKnown: true, grants: grants)])
      let publisher = try #require(held.publisher)
      var refusal: GrantRefusal?
      do throws(GrantRefusal) {
        try held.state.bring(TestGrants.grant(2000, until: 20), isTold: true, publisher: publisher)
      } catch {
        refusal = error
      }
      #expect(refusal == expected && held["me"].grants.count == (expected == nil ? count + 1 : count))
    }
  }

  @Test func `a grant that changes nothing for the customer tells nothing`() throws {
    let purchase = T.purchase(T.transaction(expires: 30), owner: "me")
    var commit = TestCommit([], ["me": CustomerRecord(isKnown: true, version: 4, others: [purchase])])
    let publisher = try #require(commit.publisher)
    commit.state.reevaluate(me, publisher: publisher)
    let version = commit["me"].version
    try commit.state.give(TestGrants.grant(until: 20), limits: GrantLimits(), publisher: publisher, traceparent: nil)
    #expect(commit["me"].version == version && commit.state.changes.events.count == 1)
  }

  @Test func `dates, offers and the customer's open grants have limits`() {
    let commit = TestCommit()
    #expect(refusal(TestGrants.grant(until: 10), commit) == .alreadyOver)
    #expect(refusal(TestGrants.grant(until: 11), commit, GrantLimits(longestDays: 1)) == nil)
    #expect(refusal(TestGrants.grant(until: 11.001), commit, GrantLimits(longestDays: 1)) == .tooLong)
    #expect(refusal(TestGrants.grant(of: "none", until: 11), commit) == .unknownOffer)
    let limits = GrantLimits(openOfCustomer: 2)
    for (ended, expected) in [(20.0, GrantRefusal.openOfCustomer), (10, nil)] {
      // What is over by the time is not open, although its end was not told.
      let grants = [TestGrants.grant(1, until: 20), TestGrants.grant(2, until: ended)]
      let held = TestCommit([], ["me": CustomerRecord(isKnown: true, grants: grants)])
      #expect(refusal(TestGrants.grant(3, until: 20), held, limits) == expected)
    }
  }

  @Test func `withdrawing ends the access, once`() throws {
    let grant = TestGrants.grant(until: 20)
    var commit = TestCommit([], ["me": CustomerRecord(isKnown: true, version: 1, grants: [grant])])
    let publisher = try #require(commit.publisher)
    commit.state.reevaluate(me, publisher: publisher)
    #expect(commit.state.withdraw(TestGrants.id(2), of: me, publisher: publisher, traceparent: nil) == nil)
    let withdrawn = commit.state.withdraw(grant.id, of: me, publisher: publisher, traceparent: nil)
    #expect(withdrawn?.withdrawnAt == T.at(10) && withdrawn?.state(at: T.at(10)) == .withdrawn)
    #expect(commit.state.withdraw(grant.id, of: me, publisher: publisher, traceparent: nil) == nil)
    #expect(
      try commit.state.changes.events.map(ToldChange.init) == [
        ToldChange("me", 2, "S1", "rules", nil, true), ToldChange("me", 3, "S1", "grant", true, nil),
      ])
  }

  @Test func `what is over by the time cannot be withdrawn, and its end is told once`() throws {
    let (over, open) = (TestGrants.grant(1, until: 10), TestGrants.grant(2, of: "L1", until: 20))
    var commit = TestCommit(
      [],
      [
        "me": CustomerRecord(
          isKnown: true, version: 1,
          told: [OfferEntitlement(offerId: "S1", grant: over.id, until: over.endsAt).told], grants: [over, open])
      ])
    let publisher = try #require(commit.publisher)
    #expect(commit.state.withdraw(over.id, of: me, publisher: publisher, traceparent: nil) == nil)
    let ended = commit.state.endGrants(of: me, publisher: publisher)
    #expect(ended.map(\.id) == [over.id] && ended.map(\.endedAt) == [T.at(10)])
    #expect(
      try commit.state.changes.events.map(ToldChange.init) == [
        ToldChange("me", 2, "L1", "time", nil, true), ToldChange("me", 2, "S1", "time", true, nil),
      ])
    #expect(commit.state.endGrants(of: me, publisher: publisher).isEmpty)
    #expect(commit.state.changes.events.count == 2)
  }

  @Test func `a commit about purchases keeps what a grant gives`() throws {
    let grant = TestGrants.grant(until: 20)
    var commit = TestCommit([], ["me": CustomerRecord(isKnown: true, version: 1, grants: [grant])])
    // The purchase ends before the grant, so it changes nothing for the customer but the grant's first telling.
    let shorter = commit.evidence(TestCommit.job(), T.transaction(expires: 15))
    #expect(shorter.code == .purchaseSynchronized)
    #expect(shorter.changes == [ToldChange("me", 2, "S1", "registration", nil, true)])
    #expect(commit["me"].told.map(\.granted) == [true])
    let longer = commit.evidence(TestCommit.job(id: "s2"), T.transaction("2", expires: 30, signed: 9))
    #expect(longer.changes == [ToldChange("me", 3, "S1", "registration", true, true)])
    #expect(commit["me"].told.map(\.granted) == [nil])
  }

  @Test func `a transfer leaves the grants with their customer`() throws {
    let purchase = T.purchase(T.transaction(expires: 30), owner: "me")
    let grant = TestGrants.grant(until: 20)
    let told = Entitlements.of(
      purchases: [purchase], grants: [grant], rules: AccessRules(offers: TestCommit.offers, allowsSandbox: false),
      now: T.at(10)
    ).map(\.told)
    var commit = TestCommit(
      [purchase],
      ["me": CustomerRecord(isKnown: true, version: 1, told: told, grants: [grant]), "you": CustomerRecord()])
    let moved = commit.finalize(TestCommit.job("you", "1", .transfer), .known(purchase.key))
    #expect(moved.code == .purchaseOwnershipTransferred)
    #expect(
      Set(moved.changes.map(\.customer)) == ["me", "you"] && commit["me"].told.map(\.granted) == [true]
        && commit["you"].told.map(\.granted) == [nil])
  }
}

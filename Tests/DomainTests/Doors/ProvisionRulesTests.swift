import Domain
import Testing

/// When a gateway looks while Apple is away, and what follows.
struct ProvisionRulesTests {
  /// Evidence of time 1,000,000 ms that may be 60 s old, and access for 10 s.
  private let rules = ProvisionRules(
    GrantWhileAppleIsAway(maxEvidenceAge: .seconds(60), limit: .seconds(10)), evidenceCreatedAt: 1_000_000)

  @Test func `evidence is fresh up to its age, and not after it`() {
    // The clock of this machine may be behind Apple's.
    #expect(rules.isFresh(at: 999_000))
    #expect(rules.isFresh(at: 1_060_000))
    #expect(!rules.isFresh(at: 1_060_001))
  }

  @Test func `Apple's absence gives access, for a time from the look`() {
    for cause in [RetryCause.network, .timeout, .tls, .appleError, .malformedAnswer] {
      #expect(rules.step(.retrying, cause, now: 1_005_000) == .grant(until: 1_015_000), "\(cause)")
    }
  }

  @Test(arguments: [
    RetryCause.busy, .storeUnavailable, .ledgerUnavailable, .tryLater, .publisherUnknown, .newerFormat, .suspect,
  ])
  func `a cause that is ours gives nothing, and may change`(cause: RetryCause) {
    #expect(rules.step(.retrying, cause, now: 1_005_000) == .wait)
  }

  @Test func `a job that has not failed yet, or that the store has forgotten, is looked at again`() {
    #expect(rules.step(.processing, nil, now: 1_005_000) == .wait)
    // Its last run may have failed, but now it runs.
    #expect(rules.step(.processing, .network, now: 1_005_000) == .wait)
    #expect(rules.step(.retrying, nil, now: 1_005_000) == .wait)
    #expect(rules.step(nil, nil, now: 1_005_000) == .wait)
  }

  @Test func `Apple's answer ends the looks`() {
    #expect(rules.step(.finalized, nil, now: 1_005_000) == .end)
    #expect(rules.step(.finalized, .network, now: 1_005_000) == .end)
  }

  @Test func `evidence that became too old between two looks ends them`() {
    #expect(rules.step(.retrying, .network, now: 1_060_000) == .grant(until: 1_070_000))
    #expect(rules.step(.retrying, .network, now: 1_060_001) == .end)
    #expect(rules.step(.processing, nil, now: 1_060_001) == .end)
  }

  @Test func `the looks come later and later, and a waiting caller has one at once`() {
    let later = ProvisionRules.pauses(isAwaited: false)
    #expect(later.first == .seconds(2))
    #expect(later == later.sorted())
    #expect(ProvisionRules.pauses(isAwaited: true) == [.zero] + later)
  }
}

/// Which purchase of a receipt may give access before Apple has answered.
struct ReceiptPeriodTests {
  @Test func `a subscription that its signer names has a period`() {
    let period = ReceiptPeriod(purchaseDate: 1, expiresDate: 2, isNamedBySigner: true)
    #expect(period?.start == 1 && period?.end == 2)
  }

  @Test func `anything else has none`() {
    #expect(ReceiptPeriod(purchaseDate: nil, expiresDate: 2, isNamedBySigner: true) == nil)
    #expect(ReceiptPeriod(purchaseDate: 1, expiresDate: nil, isNamedBySigner: true) == nil)
    #expect(ReceiptPeriod(purchaseDate: 1, expiresDate: 2, isNamedBySigner: false) == nil)
  }
}

/// How many things a gateway keeps for its publishers.
struct PublisherLimitTests {
  @Test func `only so many are kept, and the last quarter is another publisher's`() {
    var limit = PublisherLimit(most: 8)
    let all = [limit.begin(5, of: 1), limit.begin(2, of: 1), limit.begin(1, of: 1)]
    #expect(all == [true, false, true])
    let others = [limit.begin(3, of: 2), limit.begin(2, of: 2), limit.begin(1, of: 3)]
    #expect(others == [false, true, false])
    #expect(limit.count == 8)
  }

  @Test func `what ends makes room again`() {
    var limit = PublisherLimit(most: 8)
    #expect([limit.begin(6, of: 1), limit.begin(1, of: 1)] == [true, false])
    limit.end(6, of: 1)
    #expect(limit == PublisherLimit(most: 8))
    #expect([limit.begin(6, of: 1)] == [true])
  }

  @Test func `a single place is anybody's`() {
    var limit = PublisherLimit(most: 1)
    #expect([limit.begin(of: 1), limit.begin(of: 2)] == [true, false])
    limit.end(of: 1)
    #expect([limit.begin(of: 2)] == [true])
  }
}

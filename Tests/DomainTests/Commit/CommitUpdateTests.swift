import Domain
import DomainSupport
import Formats
import JSON
import Testing

/// Commits that bring news of Apple's and a new owner at once.
struct CommitUpdateTests {
  private typealias T = TestPurchases
  private let key = TestPurchases.key()
  private let token: AppAccountToken = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
  private let first = TestPurchases.transaction(expires: 9)
  private let second = TestPurchases.transaction("2", bought: 9, expires: 39)

  private func notified(_ reason: LifeCycleReason?) -> PurchaseUpdate.Source {
    .notification(uuid: "n1", reason: reason)
  }

  private func update(_ facts: TransactionFacts, _ source: PurchaseUpdate.Source, _ commit: TestCommit) throws
    -> PurchaseUpdate
  {
    PurchaseUpdate(key, [T.evidence(.transaction(facts))], from: source, publisher: try #require(commit.publisher))
  }

  @Test func `a registration whose answer shows a renewal tells the renewal, and then the owner`() throws {
    var commit = TestCommit([T.purchase(first, version: 1)], ["me": CustomerRecord(isKnown: true)])
    let done = commit.evidence(TestCommit.job(), second, first)
    let told = try done.events.compactMap(Told.init)
    #expect(told.map(\.reason) == ["renewed", "ownerChanged"])
    #expect(told.map(\.version) == [2, 3])
    #expect(told.map(\.customerId) == [nil, "me"] && told.map(\.previousCustomerId) == [nil, nil])
    #expect(told.map(\.previousVersion) == [1, 2])
    #expect(Set(done.events.map(\.id)).count == done.events.count)
    // Whoever has seen an event reads its version or a later one.
    #expect(done.version == 3 && commit[purchase: key]?.version == 3)
  }

  @Test func `a refund that a registration finds is told beside the owner`() throws {
    var commit = TestCommit([T.purchase(first, version: 1)], ["me": CustomerRecord(isKnown: true)])
    let done = commit.evidence(TestCommit.job(), T.transaction(expires: 9, revoked: 5, signed: 6, digest: 1))
    #expect(try done.events.compactMap(Told.init).map(\.reason) == ["refunded", "ownerChanged"])
  }

  @Test func `a registration without news tells the owner alone`() throws {
    var commit = TestCommit([T.purchase(first, version: 1)], ["me": CustomerRecord(isKnown: true)])
    let told = try commit.evidence(TestCommit.job(), first).events.compactMap(Told.init)
    #expect(told.map(\.reason) == ["ownerChanged"] && told.map(\.version) == [2])
  }

  @Test func `a purchase that comes with its registration is no change of a known one`() throws {
    var commit = TestCommit([], ["me": CustomerRecord(isKnown: true)])
    #expect(try commit.evidence(TestCommit.job(), first).events.compactMap(Told.init).isEmpty)
    #expect(commit[purchase: key]?.version == 1)
  }

  @Test(arguments: [LifeCycleReason.renewed, nil])
  func `a notification that finds its customer tells its reason, and then the owner`(named: LifeCycleReason?) throws {
    var commit = TestCommit(
      [T.purchase(first, version: 1)], ["me": CustomerRecord(isKnown: true, appAccountToken: token)])
    let renewal = T.transaction("2", bought: 9, expires: 39, token: token)
    let told = try commit.state.apply(update(renewal, notified(named), commit)).compactMap(Told.init)
    #expect(told.map(\.reason) == ["renewed", "ownerChanged"] && told.map(\.version) == [2, 3])
    #expect(commit[purchase: key]?.version == 3)
  }

  @Test func `a reason that only a notification names is told beside the owner`() throws {
    var known = first
    known.appAccountToken = token
    var commit = TestCommit(
      [T.purchase(known, version: 1)], ["me": CustomerRecord(isKnown: true, appAccountToken: token)])
    let anew = T.transaction(expires: 9, token: token, signed: 5, digest: 1)
    let told = try commit.state.apply(update(anew, notified(.refundDeclined), commit)).compactMap(Told.init)
    #expect(told.map(\.reason) == ["refundDeclined", "ownerChanged"])
  }
}

/// The members of `purchaseUpdated` that these tests look at.
private struct Told {
  let reason: String
  let version: Int64
  let customerId: String?
  let previousVersion: Int64?
  let previousCustomerId: String?

  /// `nil` for an event of another topic.
  init?(_ event: Event) throws {
    guard event.topic == EventTopic.purchaseUpdated else { return nil }
    let data = try JSONText(event.body).decoded(as: Envelope.self).data
    (reason, version, customerId) = (data.reason, data.purchase.version, data.purchase.customerId)
    (previousVersion, previousCustomerId) = (data.previous?.version, data.previous?.customerId)
  }

  private struct Envelope: Decodable { let data: Data }
  private struct Data: Decodable {
    let reason: String
    let purchase: State
    let previous: State?
  }
  private struct State: Decodable {
    let version: Int64
    let customerId: String?
  }
}

import Domain
import DomainSupport
import Formats
import JSON
import Testing

/// News that no registration brought: notifications and looks.
struct CommitApplyTests {
  private typealias T = TestPurchases
  private let key = TestPurchases.key()
  private let token: AppAccountToken = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

  private func known(_ customer: CustomerId = "me", token: AppAccountToken? = nil, told: [ToldEntitlement] = [])
    -> CustomerRecord
  {
    CustomerRecord(isKnown: true, version: 1, told: told, appAccountToken: token)
  }

  private func told(until days: Double) -> ToldEntitlement {
    ToldEntitlement(
      offerId: "S1", accessGranted: true, expiresAt: T.at(days), billingProblem: false, environment: "Production")
  }

  private func notified(_ reason: LifeCycleReason?, uuid: NotificationUUID = "n1") -> PurchaseUpdate.Source {
    .notification(uuid: uuid, reason: reason)
  }

  // MARK: Notifications

  @Test func `a renewal extends the owner's access, and tells it`() throws {
    let first = T.transaction(expires: 9)
    var commit = TestCommit(
      [T.purchase(first, owner: "me", version: 3)], ["me": known(told: [told(until: 9)])])
    let events = commit.apply([T.transaction("2", bought: 9, expires: 39)], notified(.renewed))
    #expect(events.map(\.topic) == [EventTopic.entitlementsChanged, EventTopic.purchaseUpdated])
    #expect(commit[purchase: key]?.version == 4)
    let told = try ToldUpdate(events[1])
    #expect(told.reason == "renewed" && told.transactionId == "2" && told.previousTransactionId == "1")
    #expect(commit.state.changes.notifications.map(\.isNews) == [true])
    #expect(commit.state.changes.dueTimes[key].map { $0 >= T.at(39) } == true)
  }

  @Test func `a stale notification changes nothing, and tells nothing`() {
    let purchase = T.purchase(
      T.transaction(expires: 9), T.transaction("2", bought: 9, expires: 39), owner: "me", version: 3)
    var commit = TestCommit([purchase], ["me": known(told: [told(until: 39)])])
    #expect(commit.apply([T.transaction(expires: 9)], notified(.renewed)).isEmpty)
    #expect(commit[purchase: key]?.version == 3)
    #expect(commit.state.changes.notifications == [.init(publisherId: 7, uuid: "n1", isNews: false)])
    #expect(commit.state.changes.changedPurchases.isEmpty)
    // A look that is due stays so.
    #expect(commit.state.changes.lookedAt.isEmpty)
  }

  @Test func `a repeated notification tells one event`() {
    var commit = TestCommit([T.purchase(T.transaction(expires: 9), owner: "me")], ["me": known(told: [told(until: 9)])])
    let facts = T.transaction("2", bought: 9, expires: 39)
    #expect(!commit.apply([facts], notified(.renewed)).isEmpty)
    #expect(commit.apply([facts], notified(.renewed)).isEmpty)
    #expect(commit[purchase: key]?.version == 1)
  }

  @Test func `an unknown purchase is kept unclaimed`() throws {
    var commit = TestCommit()
    let events = commit.apply([T.transaction(expires: 30)], notified(.started))
    #expect(events.map(\.topic) == [EventTopic.purchaseUpdated])
    #expect(try ToldUpdate(events[0]).reason == "started")
    #expect(events[0].customerId == nil)
    #expect(commit[purchase: key]?.owner == nil && commit[purchase: key]?.version == 1)
    #expect(commit.state.changes.newPurchases == [key])
  }

  @Test func `what the first reading of a history finds is told of owners only`() throws {
    var commit = TestCommit()
    #expect(commit.apply([T.transaction(expires: 30)], notified(.started), isPast: true).isEmpty)
    #expect(commit[purchase: key]?.version == 1 && commit.state.changes.newPurchases == [key])
    #expect(commit.state.changes.notifications.map(\.isNews) == [true])
    // What Apple posts afterwards is news.
    let news = commit.apply([T.transaction("2", bought: 9, expires: 60)], notified(.renewed, uuid: "n2"))
    #expect(try news.map { try ToldUpdate($0).reason } == ["renewed"])
    // Somebody who owns the purchase follows it.
    var owned = TestCommit([T.purchase(T.transaction(expires: 9), owner: "me")], ["me": known(told: [told(until: 9)])])
    let told = owned.apply([T.transaction("2", bought: 9, expires: 39)], notified(.renewed), isPast: true)
    #expect(told.map(\.topic) == [EventTopic.entitlementsChanged, EventTopic.purchaseUpdated])
  }

  @Test func `that a period has ended is told by the time, whatever a first reading finds`() throws {
    var purchase = T.purchase(T.transaction(expires: 9), version: 3)
    purchase.updatedAt = T.at(5)
    var commit = TestCommit([purchase])
    let events = commit.apply([T.transaction(expires: 9)], notified(.renewed), isPast: true)
    #expect(try events.map { try ToldUpdate($0).reason } == ["ended"])
  }

  @Test func `what the first reading of a history gives to a customer is told`() {
    var facts = T.transaction(expires: 30)
    facts.appAccountToken = token
    var commit = TestCommit([], ["me": known(token: token)])
    let events = commit.apply([facts], notified(.started), isPast: true)
    #expect(events.map(\.topic) == [EventTopic.entitlementsChanged, EventTopic.purchaseUpdated])
    #expect(commit[purchase: key]?.owner?.customerId == "me")
  }

  @Test func `renewal info alone makes no purchase`() {
    var commit = TestCommit()
    let events = commit.apply(
      pieces: [T.evidence(.renewalInfo(T.renewal(willRenew: false, signed: 1), status: nil))], notified(.renewalOff))
    #expect(events.isEmpty && commit[purchase: key] == nil)
    #expect(commit.state.changes.notifications.map(\.isNews) == [false])
  }

  @Test func `a notification that changes nothing visible still tells its reason`() throws {
    var commit = TestCommit(
      [T.purchase(T.transaction(expires: 30), owner: "me")], ["me": known(told: [told(until: 30)])])
    let events = commit.apply([T.transaction(expires: 30, signed: 5, digest: 1)], notified(.refundDeclined))
    #expect(try events.map { try ToldUpdate($0).reason } == ["refundDeclined"])
    // Its type is not known, or tells nothing.
    #expect(commit.apply([T.transaction(expires: 30, signed: 6, digest: 2)], notified(nil, uuid: "n2")).isEmpty)
  }

  // MARK: The owner

  @Test func `a purchase belongs to the customer whose token it carries`() throws {
    var commit = TestCommit([], ["me": known(token: token), "you": known()])
    let events = commit.apply([T.transaction(expires: 30, token: token)], notified(.started))
    #expect(commit[purchase: key]?.owner?.customerId == "me")
    #expect(commit.state.changes.begunOwnerships.map(\.cause) == [.appAccountToken])
    #expect(events.map(\.topic) == [EventTopic.entitlementsChanged, EventTopic.purchaseUpdated])
  }

  @Test func `a token that two customers have, or that a family member shares, names nobody`() {
    var commit = TestCommit([], ["me": known(token: token), "you": known(token: token)])
    _ = commit.apply([T.transaction(expires: 30, token: token)], notified(.started))
    #expect(commit[purchase: key]?.owner == nil)
    var shared = TestCommit([], ["me": known(token: token)])
    _ = shared.apply([T.transaction(expires: 30, ownership: "FAMILY_SHARED", token: token)], notified(.started))
    #expect(shared[purchase: key]?.owner == nil)
  }

  @Test func `a token takes nothing from an owner`() {
    var commit = TestCommit(
      [T.purchase(T.transaction(expires: 30), owner: "you")], ["me": known(token: token), "you": known()])
    _ = commit.apply([T.transaction(expires: 30, token: token, signed: 5, digest: 1)], notified(nil))
    #expect(commit[purchase: key]?.owner?.customerId == "you")
  }

  @Test func `an upgrade under a new original id follows the owner, whichever comes first`() {
    let old = T.transaction(expires: 30)
    var new = T.transaction("5", of: "5", .autoRenewable, "yearly", bought: 5, expires: 370)
    new.previousOriginalTransactionId = "1"
    var known = TestCommit([T.purchase(old, owner: "me")], ["me": self.known()])
    _ = known.apply([new], notified(.planChanged))
    #expect(known[purchase: T.key("5")]?.owner?.customerId == "me")
    #expect(known.state.changes.begunOwnerships.map(\.cause) == [.upgrade])

    var late = TestCommit([], ["me": self.known()])
    _ = late.apply([new], notified(.planChanged))
    #expect(late[purchase: T.key("5")]?.owner == nil)
    let done = late.evidence(TestCommit.job(), old)
    #expect(done.code == .purchaseSynchronized)
    #expect(late[purchase: T.key("5")]?.owner?.customerId == "me")
    #expect(done.events.filter { $0.topic == EventTopic.purchaseUpdated }.count == 1)
  }

  @Test func `an upgrade's purchase that another customer registers first belongs to the owner of the one before`() {
    let old = T.transaction(expires: 30)
    var new = T.transaction("5", of: "5", .autoRenewable, "yearly", bought: 5, expires: 370)
    new.previousOriginalTransactionId = "1"
    var commit = TestCommit([T.purchase(old, owner: "me")], ["me": known(), "you": known()])
    let done = commit.evidence(TestCommit.job("you", "5"), new)
    #expect(done.code == .purchaseOwnedByAnotherCustomer)
    #expect(commit[purchase: T.key("5")]?.owner?.customerId == "me")
  }

  @Test func `a released purchase follows nobody by itself`() {
    var released = T.purchase(T.transaction(expires: 30, token: token))
    released.hadOwner = true
    var commit = TestCommit([released], ["me": known(token: token)])
    _ = commit.apply([T.transaction(expires: 30, token: token, signed: 5, digest: 1)], notified(.renewed))
    #expect(commit[purchase: key]?.owner == nil)
    #expect(commit.finalize(TestCommit.job("me", "1"), .known(key)).code == .purchaseSynchronized)
  }

  @Test func `an end is told once, also by two updates of one commit`() {
    var purchase = T.purchase(T.transaction(expires: 9), owner: "me", version: 3)
    purchase.updatedAt = T.at(5)
    var commit = TestCommit([purchase], ["me": known(told: [told(until: 9)])])
    #expect(commit.apply([], .timer(.told)).count == 2)
    #expect(commit.apply([], .timer(.told)).isEmpty)
  }

  // MARK: Looks

  @Test func `access ends by our own clock, and the event says so`() throws {
    var purchase = T.purchase(
      T.transaction(expires: 9), renewal: T.renewal(willRenew: false, signed: 1), owner: "me", version: 3)
    purchase.updatedAt = T.at(5)
    var commit = TestCommit([purchase], ["me": known(told: [told(until: 9)])])
    let events = commit.apply([], .timer(.away(until: nil)))
    #expect(events.map(\.topic) == [EventTopic.entitlementsChanged, EventTopic.purchaseUpdated])
    #expect(try ToldUpdate(events[1]).reason == "ended")
    #expect(try ToldChange(events[0]).cause == "time")
    #expect(commit[purchase: key]?.version == 4)
    // Apple could not be asked, so the next look comes although the subscription has ended.
    #expect(commit.state.changes.dueTimes[key] == PurchaseTimer.retry(after: T.at(10), purchase))
  }

  @Test func `a look that finds nothing new only moves the timer`() {
    var purchase = T.purchase(T.transaction("1", .nonConsumable, "lifetime"), owner: "me", version: 3)
    purchase.updatedAt = T.at(5)
    var commit = TestCommit([purchase], ["me": known()])
    #expect(commit.apply([], .timer(.told)).filter { $0.topic == EventTopic.purchaseUpdated }.isEmpty)
    #expect(commit.state.changes.lookedAt == [key] && commit.state.changes.changedPurchases.isEmpty)
    #expect(commit[purchase: key]?.version == 3)
  }

  @Test func `what Apple signs anew without a change tells nothing`() {
    let facts = T.transaction(expires: 30)
    var commit = TestCommit([T.purchase(facts, owner: "me", version: 3)], ["me": known(told: [told(until: 30)])])
    #expect(commit.apply([T.transaction(expires: 30, signed: 8, digest: 1)], .timer(.told)).isEmpty)
    #expect(commit[purchase: key]?.version == 4)
  }

  // MARK: Doubt

  @Test func `a lifted revocation is confirmed with Apple, unless Apple says that it is reversed`() {
    let refunded = T.purchase(T.transaction(expires: 30, revoked: 5, signed: 5), owner: "me")
    let lifted = T.transaction(expires: 30, signed: 6, digest: 1)
    var doubtful = TestCommit([refunded], ["me": known()])
    _ = doubtful.apply([lifted], notified(.renewed))
    #expect(doubtful.state.changes.dueTimes[key] == T.at(10) + PurchaseTimer.doubt)
    // A stale notification does not end the doubt. Nor does an answer at once: it may come from the same replica.
    _ = doubtful.apply([T.transaction(expires: 30, signed: 1, digest: 7)], notified(.renewed, uuid: "n2"))
    #expect(doubtful.state.changes.dueTimes[key] == T.at(10) + PurchaseTimer.doubt)
    _ = doubtful.apply([T.transaction(expires: 30, signed: 9, digest: 8)], .timer(.told))
    #expect(doubtful.state.changes.dueTimes[key] == T.at(10) + PurchaseTimer.doubt)
    var reversed = TestCommit([refunded], ["me": known()])
    _ = reversed.apply([lifted], notified(.refundReversed))
    #expect(reversed.state.changes.dueTimes[key].map { $0 >= T.at(30) } == true)
  }

  @Test func `a doubt ends with Apple's answer when it is due`() throws {
    var purchase = T.purchase(T.transaction(expires: 30), owner: "me")
    purchase.recheckAt = T.at(10)
    // An answer that is older than what is known answers nothing, and Apple's silence neither.
    for (pieces, source) in [
      ([T.transaction(expires: 30, signed: -1, digest: 7)], PurchaseUpdate.Source.timer(.told)),
      ([], .timer(.away(until: nil))), ([], .timer(.unknown)),
      ([T.transaction(expires: 30, signed: 9, digest: 8)], notified(.renewed)),
    ] {
      var commit = TestCommit([purchase], ["me": known()])
      _ = commit.apply(pieces, source)
      #expect(commit[purchase: key]?.recheckAt != nil)
      let due = try #require(commit.state.changes.dueTimes[key])
      #expect(due > T.at(10) && due <= T.at(10) + 3_600_000)
    }
    // Apple need not be asked, or has signed the purchase anew.
    for pieces in [[], [T.transaction(expires: 30, signed: 9, digest: 8)]] {
      var commit = TestCommit([purchase], ["me": known()])
      _ = commit.apply(pieces, .timer(.told))
      #expect(commit[purchase: key]?.recheckAt == nil)
      #expect(commit.state.changes.dueTimes[key].map { $0 >= T.at(30) } == true)
    }
  }

  @Test func `a reversed refund ends no other doubt`() {
    let purchase = T.purchase(
      T.transaction(expires: 30, revoked: 5, signed: 5), T.transaction("2", bought: 9, expires: 39, revoked: 10),
      owner: "me")
    var commit = TestCommit([purchase], ["me": known()])
    _ = commit.apply([T.transaction("2", bought: 9, expires: 39, signed: 11, digest: 2)], notified(.renewed))
    _ = commit.apply([T.transaction(expires: 30, signed: 11, digest: 1)], notified(.refundReversed, uuid: "n2"))
    #expect(commit[purchase: key]?.recheckAt == T.at(10) + PurchaseTimer.doubt)
    #expect(commit.state.changes.dueTimes[key] == T.at(10) + PurchaseTimer.doubt)
  }

  @Test func `a release is remembered, also of an owner whom an older worker wrote`() {
    var commit = TestCommit([T.purchase(T.transaction(expires: 30), owner: "me")], ["me": known(token: token)])
    _ = commit.state.release(key, publisher: commit.publisher!)
    #expect(commit[purchase: key]?.owner == nil && commit[purchase: key]?.hadOwner == true)
  }

  @Test func `the longer Apple does not answer a doubt, the later it is asked`() {
    let hour: Int64 = 3_600_000
    #expect(PurchaseTimer.recheckTime(10 * hour, after: 9 * hour) == 10 * hour)
    #expect(PurchaseTimer.recheckTime(10 * hour, after: 10 * hour) == 10 * hour + 60_000)
    #expect(PurchaseTimer.recheckTime(10 * hour, after: 20 * hour) == 25 * hour)
    #expect(PurchaseTimer.recheckTime(10 * hour, after: 1000 * hour) == 1024 * hour)
  }

  @Test func `an upgrade whose predecessor nobody owns is looked at soon, once`() {
    var new = T.transaction("5", of: "5", .autoRenewable, "yearly", bought: 5, expires: 370)
    new.previousOriginalTransactionId = "1"
    var commit = TestCommit()
    _ = commit.apply([new], notified(.planChanged))
    #expect(commit.state.changes.dueTimes[T.key("5")] == T.at(10) + PurchaseTimer.handOn)
    var again = new
    (again.signedDate, again.payloadSHA256) = (T.at(9), [9])
    var later = TestCommit([T.purchase(new)])
    _ = later.apply([again], .timer(.told))
    #expect(later.state.changes.dueTimes[T.key("5")].map { $0 > T.at(300) } == true)
  }

  // MARK: Order

  @Test func `any order of one set of notifications gives one purchase`() {
    var upgraded = T.transaction("2", bought: 9, expires: 39, isUpgraded: true, signed: 20, digest: 1)
    upgraded.productId = "monthly"
    let pieces: [Evidence] =
      [
        T.transaction(expires: 9), T.transaction("2", bought: 9, expires: 39), upgraded,
        T.transaction("3", of: "1", .autoRenewable, "yearly", bought: 20, expires: 385),
        T.transaction(expires: 9, revoked: 12, signed: 12, digest: 1), T.transaction(expires: 9, signed: 13, digest: 2),
      ].map { T.evidence(.transaction($0)) } + [
        T.evidence(.renewalInfo(T.renewal(willRenew: true, signed: 1), status: nil)),
        T.evidence(.renewalInfo(T.renewal(willRenew: false, signed: 21, digest: 1), status: nil)),
      ]
    var random = SystemRandomNumberGenerator()
    var states: Set<[UInt8]> = []
    for _ in 0..<1000 {
      var commit = TestCommit()
      for (number, piece) in (pieces + pieces).shuffled(using: &random).enumerated() {
        _ = commit.apply(pieces: [piece], notified(nil, uuid: "n\(number)"))
      }
      // A renewal info before any transaction is not kept; Apple sends both together.
      for piece in pieces { _ = commit.apply(pieces: [piece], notified(nil, uuid: "again")) }
      guard let purchase = commit[purchase: key] else { continue }
      states.insert(
        JSONWriter.object {
          PurchaseDocument(purchase, commit.publisherOrNone, isBare: true, now: T.at(50)).write(to: &$0)
        })
    }
    #expect(states.count == 1)
  }
}

extension TestCommit {
  fileprivate var publisherOrNone: Publisher {
    publisher
      ?? Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: Self.offers, webhooks: [])
  }

  /// Applies transactions of one purchase.
  fileprivate mutating func apply(
    _ facts: [TransactionFacts], _ source: PurchaseUpdate.Source, isPast: Bool = false
  ) -> [Event] {
    apply(pieces: facts.map { TestPurchases.evidence(.transaction($0)) }, source, isPast: isPast)
  }

  fileprivate mutating func apply(
    pieces: [Evidence], _ source: PurchaseUpdate.Source, isPast: Bool = false
  ) -> [Event] {
    state.apply(
      PurchaseUpdate(
        pieces.first?.key(of: 7) ?? TestPurchases.key(), pieces, from: source, publisher: publisherOrNone,
        isPast: isPast))
  }
}

/// The members of `purchaseUpdated` that the tests look at.
private struct ToldUpdate {
  let reason: String
  let transactionId: String
  let previousTransactionId: String?

  init(_ event: Event) throws {
    let data = try JSONText(event.body).decoded(as: Envelope.self).data
    (reason, transactionId) = (data.reason, data.purchase.transactionId)
    previousTransactionId = data.previous?.transactionId
  }

  private struct Envelope: Decodable { let data: Data }
  private struct Data: Decodable {
    let reason: String
    let purchase: State
    let previous: State?
  }
  private struct State: Decodable { let transactionId: String }
}

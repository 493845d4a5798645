import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain
@testable import Doors

/// Apple names another transaction id of a period that the ledger knows, as for a restored copy.
struct SamePeriodTests {
  private typealias T = TestPurchases

  private static let publisher = CleengLab.publisher(
    OpenDoors(
      cleeng: CleengDoor(), iaptic: IapticDoor(appName: "app", apiKeyHashes: []),
      mbaasy: MbaasyDoor(policy: DoorPolicy(), clientTokens: [])))

  private func period(
    _ id: TransactionId, bought: Double = 0, expires: Double? = 30, line: WebOrderLineItemId? = "900",
    signed: Double? = nil
  ) -> TransactionFacts {
    var facts = T.transaction(id, bought: bought, expires: expires, signed: signed)
    (facts.webOrderLineItemId, facts.originalPurchaseDate) = (line, T.at(-0.001))
    facts.payloadSHA256 = Array("\(id) \(signed ?? bought)".utf8)
    return facts
  }

  private func commit(_ known: TransactionFacts...) -> CommitState {
    var purchase = T.purchase(known[0], version: 1)
    for facts in known { purchase.merge(T.evidence(.transaction(facts))) }
    purchase.owner = Owner(customerId: "42", subscriptionId: 1)
    (purchase.hadOwner, purchase.updatedAt) = (true, T.at(1))
    let told = Entitlements.of(
      purchases: [purchase], grants: [], rules: Self.publisher.accessRules(for: "42", owning: [purchase]), now: T.at(10)
    )
    return CommitState(
      purchases: [purchase],
      customers: [
        CustomerKey(publisherId: 7, id: "42"): CustomerRecord(isKnown: true, version: 1, told: told.map(\.told))
      ],
      subscriptionIds: [], now: T.at(10))
  }

  private func update(_ facts: TransactionFacts, _ source: PurchaseUpdate.Source) -> PurchaseUpdate {
    PurchaseUpdate(T.key(), [T.evidence(.transaction(facts))], from: source, publisher: Self.publisher)
  }

  /// The topics of events, with the reason where they have one.
  private func told(_ events: [Event]) throws -> [EventTopic] {
    try events.map { event in
      guard case .object(let envelope) = try JSONText(event.body).decoded(as: JSONValue.self),
        case .object(let data) = envelope["data"]
      else { return event.topic }
      if case .string(let reason) = data["reason"] { return "\(event.topic) \(reason)" }
      guard case .object(let notification) = data["notification"], case .string(let reason) = notification["reason"]
      else { return event.topic }
      return "\(event.topic) \(reason)"
    }
  }

  // MARK: What is a copy

  @Test func `dates and order line name a period`() {
    #expect(period("2").isCopy(of: period("1")))
    // Rows from before the ledger kept the order line.
    #expect(period("2", line: nil).isCopy(of: period("1")) && period("2").isCopy(of: period("1", line: nil)))
    #expect(!period("2", line: "901").isCopy(of: period("1")))
    #expect(!period("2", bought: 30, expires: 60).isCopy(of: period("1")))
    #expect(!period("2", expires: 31).isCopy(of: period("1")) && !period("2", expires: nil).isCopy(of: period("1")))
    let yearly = T.transaction("2", .autoRenewable, "yearly", expires: 30)
    #expect(!yearly.isCopy(of: period("1")))
    // What does not renew is bought once under one original id. A copy may have the date of its restoration.
    let once = T.transaction("1", .nonConsumable, "lifetime")
    #expect(T.transaction("9", .nonConsumable, "lifetime", bought: 50).isCopy(of: once))
  }

  // MARK: What is told

  /// Each reason by which Apple says that a period began, and a look.
  @Test(arguments: [LifeCycleReason.started, .resumed, .purchased, .renewed, .recovered, nil])
  func `a copy tells nobody anything`(reason: LifeCycleReason?) throws {
    let sources: [PurchaseUpdate.Source] = [.notification(uuid: "n", reason: reason), .timer(.told)]
    for source in sources {
      for copy in [period("2", signed: 5), period("2", line: nil, signed: 5), period("0", signed: 5)] {
        var state = commit(period("1"))
        #expect(try told(state.apply(update(copy, source))) == [])
        #expect(state.purchases[T.key()]?.transactions.count == 2)
        // Nor does the first id again, signed anew.
        #expect(try told(state.apply(update(period("1", signed: 6), source))) == [])
      }
    }
  }

  @Test func `the first word about a period is told, and so is the next period, beside copies`() throws {
    var state = CommitState(purchases: [], customers: [:], subscriptionIds: [], now: T.at(10))
    let started = PurchaseUpdate.Source.notification(uuid: "n", reason: .started)
    #expect(
      try told(state.apply(update(period("1"), started))) == [
        "purchaseUpdated started", "in_app_purchase.created",
      ])
    state = commit(period("1"), period("2", signed: 5))
    let renewed = PurchaseUpdate.Source.notification(uuid: "n", reason: .renewed)
    let next = try told(state.apply(update(period("3", bought: 30, expires: 60, line: "901"), renewed)))
    #expect(
      next == [
        "entitlementsChanged", "purchaseUpdated renewed", "purchases.updated RENEWED", "in_app_purchase.updated",
      ])
    // A registration brings the purchase before Apple's notification, and tells no `purchaseUpdated`.
    state = commit(period("1"))
    #expect(try told(state.apply(update(period("1", signed: 5), started))) == ["purchaseUpdated started"])
  }

  @Test func `a registration of the copy is answered, and tells no change`() throws {
    for door in [Door.cleeng, .iaptic, nil] {
      var state = commit(period("1"))
      let job = CleengLab.job("42", "2", door: door)
      let done = state.finalize(
        FinalizationRequest(
          job, .evidence(T.key(), [T.evidence(.transaction(period("2", signed: 5)))]), publisher: Self.publisher))
      #expect(done.synchronization.result?.code == .purchaseSynchronized)
      let succeeded = door == .cleeng ? [EventTopic.validationSucceeded] : []
      #expect(
        try told(done.events) == [EventTopic.synchronizationResult] + succeeded + [
          "purchases.updated RECEIPT_REFRESHED"
        ])
    }
  }

  @Test func `an import that tells what is known has the events of a registration that changes nothing`() throws {
    var state = commit(period("1"))
    let job = Job(
      synchronizationId: "import-2-1", publisherId: 7, customerId: "42", transactionId: "1", lane: .bulk,
      imported: .told, registeredAt: T.at(9))
    let done = state.finalize(
      FinalizationRequest(
        job, .evidence(T.key(), [T.evidence(.transaction(period("1", signed: 5)))]), publisher: Self.publisher))
    #expect(try told(done.events) == [EventTopic.synchronizationResult, "purchases.updated RECEIPT_REFRESHED"])
  }

  @Test func `an earlier period is no renewal`() {
    let (first, second) = (T.purchase(period("1")), T.purchase(period("2", bought: 30, expires: 60, line: "901")))
    #expect(LifeCycleReason.of(before: first, after: second, isEnd: false) == .renewed)
    #expect(LifeCycleReason.of(before: second, after: first, isEnd: false) == .changed)
    #expect(IapticReason.of(before: first, after: second, now: T.at(31)) == .renewed)
    let other = T.purchase(period("2", line: "901"))
    #expect(LifeCycleReason.of(before: first, after: other, isEnd: false) == .changed)
    #expect(IapticReason.of(before: first, after: other, now: T.at(10)) == .other)
  }

  @Test func `a copy of the first period has not renewed at iaptic's door`() {
    let copy = T.purchase(period("1"), period("2", signed: 5))
    #expect(IapticPurchase.of(copy, rules: .none, now: T.at(10)).map(\.lastRenewalDate) == [nil])
    let renewed = T.purchase(period("1"), period("2", bought: 30, expires: 60, line: "901"))
    #expect(IapticPurchase.of(renewed, rules: .none, now: T.at(31)).map(\.lastRenewalDate) == [T.at(30)])
  }
}

import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain

/// Requests for refunds in commits.
struct CommitRefundTests {
  private typealias T = TestPurchases
  private typealias R = TestRefunds
  private let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"], consumption: ConsumptionPolicy(.fromFacts))]),
    webhooks: [])

  private func state(consent: Consent? = nil, owner: CustomerId? = "me", now hours: Int64 = 0) -> CommitState {
    var state = CommitState(
      purchases: [R.purchase(owner: owner)], customers: [TestCommit.customer("me"): CustomerRecord(isKnown: true)],
      subscriptionIds: [101, 102], now: R.asked + hours * R.hour)
    if let consent { state.consents[TestCommit.customer("me")] = consent }
    return state
  }

  private func update(_ notice: RefundNotice, uuid: NotificationUUID = "n1") -> PurchaseUpdate {
    PurchaseUpdate(
      T.key(), [], from: .notification(uuid: uuid, reason: .refundRequested), publisher: publisher, refund: notice)
  }

  private func told(_ events: [Event]) throws -> [Told] {
    try events.filter { $0.topic == EventTopic.refundRequested }
      .map { try JSONText($0.body).decoded(as: Envelope.self).data }
  }

  private struct Envelope: Decodable { let data: Told }
  private struct Told: Decodable, Equatable {
    let answering: Bool
    let customerId: String?
    let deadline: String
    let refundRequestId: RefundRequestId
    let offerId: OfferId?
  }

  @Test func `a question is told with its deadline, also if it brings no new evidence`() throws {
    var commit = state()
    let events = commit.apply(update(R.question(after: 0)))
    let request = try #require(commit.changes.refundRequests.values.first)
    #expect(request.state == .open && commit.changes.newRefundRequests == [request.id])
    #expect(
      try told(events) == [
        Told(
          answering: false, customerId: "me", deadline: rfc3339(milliseconds: R.asked + 12 * R.hour),
          refundRequestId: request.id, offerId: "S1")
      ])
    #expect(events.last?.customerId == "me")
    #expect(commit.changes.notifications.count == 1)
  }

  @Test func `with a consent the answer is on its way`() throws {
    var commit = state(consent: R.consent, now: 1)
    let events = commit.apply(update(R.question(after: 0)))
    let request = try #require(commit.changes.refundRequests.values.first)
    #expect(request.state == .sending && request.answeredBy == .policy && request.consent == R.consent)
    #expect(request.answer == ConsumptionAnswer(.delivered, isSampleProvided: false))
    #expect(request.dueAt == R.asked + R.hour)
    #expect(try told(events).map(\.answering) == [true])
  }

  @Test(arguments: [nil, TestRefunds.refusal]) func `without one the publisher is asked`(consent: Consent?) throws {
    var commit = state(consent: consent)
    #expect(try told(commit.apply(update(R.question(after: 0)))).map(\.answering) == [false])
  }

  @Test func `nobody's purchase is told too`() throws {
    var commit = state(consent: R.consent, owner: nil)
    let events = commit.apply(update(R.question(after: 0)))
    #expect(try told(events).map(\.customerId) == [nil])
    #expect(try told(events).map(\.answering) == [false])
  }

  @Test func `repeats in one commit tell one event`() throws {
    var commit = state(now: 3)
    let events = [0, 2, 1, 0].enumerated().flatMap {
      commit.apply(update(R.question(after: Int64($0.element)), uuid: "n\($0.offset)"))
    }
    #expect(try told(events).count == 1)
    #expect(commit.changes.refundRequests.values.map(\.seenAt) == [R.asked + 2 * R.hour])
    // The row is new, so all of it is written.
    #expect(commit.changes.newRefundRequests.count == 1 && commit.changes.seenRefundRequests.isEmpty)
    #expect(commit.changes.notifications.count == 4)
  }

  @Test func `a request that was known is written, and not told`() throws {
    var commit = state(now: 2)
    let known = R.request()
    commit.refundRequests[known.name] = known
    #expect(try told(commit.apply(update(R.question(after: 2)))).isEmpty)
    #expect(commit.changes.newRefundRequests.isEmpty && commit.changes.refundRequests.count == 1)
    #expect(commit.changes.seenRefundRequests == [known.id])
    #expect(try told(commit.apply(update(R.decision(after: 3), uuid: "n2"))).isEmpty)
    #expect(commit.changes.refundRequests.values.map(\.state) == [.decided])
    #expect(commit.changes.seenRefundRequests.isEmpty)
  }

  @Test func `a question behind the deadline ends the request before`() throws {
    var commit = state(now: 13)
    let known = R.request()
    commit.refundRequests[known.name] = known
    #expect(try told(commit.apply(update(R.question(after: 13)))).count == 1)
    #expect(commit.changes.refundRequests[known.id]?.state == .expired)
    #expect(commit.changes.newRefundRequests.count == 1 && commit.changes.refundRequests.count == 2)
  }
}

package import Domain
import Formats
import JSON

/// Commits by value, of publisher 7. Times are days of ``TestPurchases``.
package struct TestCommit {
  package static let offers = OfferCatalog([
    Offer(id: "S1", productIds: ["monthly", "yearly"]), Offer(id: "L1", productIds: ["lifetime"]),
    Offer(id: "C1", productIds: ["coins"]),
  ])

  package var state: CommitState
  package var publisher: Publisher?

  /// - Parameter ownership: the publisher's policy.
  package init(
    _ purchases: [Purchase] = [], _ customers: [CustomerId: CustomerRecord] = [:],
    firstGrants: [PurchaseKey: [TransactionId: Int64]] = [:], ownership: OwnershipPolicy = OwnershipPolicy(),
    sandboxAccess: SandboxAccess = .nobody, now: Double = 10
  ) {
    state = CommitState(
      purchases: purchases, firstGrants: firstGrants,
      customers: Dictionary(uniqueKeysWithValues: customers.map { (Self.customer($0.key), $0.value) }),
      subscriptionIds: Array((101...120).reversed()), now: TestPurchases.at(now))
    publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: Self.offers,
      sandboxAccess: sandboxAccess, ownership: ownership, webhooks: [])
  }

  package static func customer(_ id: CustomerId) -> CustomerKey { CustomerKey(publisherId: 7, id: id) }

  package static func job(
    _ customer: CustomerId = "me", _ transaction: TransactionId = "1", _ kind: Job.Kind = .registration,
    id: SynchronizationId = "s1",
    at registered: Double = 9, proves: PurchaseKey? = nil, isByCustomer: Bool = false
  ) -> Job {
    Job(
      synchronizationId: id, publisherId: 7, customerId: customer, transactionId: transaction, kind: kind,
      signedPurchase: proves, isByCustomer: isByCustomer, registeredAt: TestPurchases.at(registered))
  }

  /// Finalizes a job that found evidence of these transactions.
  package mutating func evidence(_ job: Job, _ facts: TransactionFacts...) -> Finalized {
    let key = TestPurchases.key(facts[0].originalTransactionId, in: facts[0].environment)
    return finalize(job, .evidence(key, facts.map { TestPurchases.evidence(.transaction($0)) }))
  }

  package mutating func finalize(_ basis: FinalizationRequest.Basis) -> Finalized { finalize(Self.job(), basis) }

  package mutating func finalize(_ job: Job, _ basis: FinalizationRequest.Basis) -> Finalized {
    state.finalize(FinalizationRequest(job, basis, publisher: publisher))
  }

  package subscript(customer: CustomerId) -> CustomerRecord {
    state.customers[Self.customer(customer)] ?? CustomerRecord()
  }
  package subscript(purchase key: PurchaseKey) -> Purchase? { state.purchases[key] }
}

extension Finalized {
  package var code: ResultCode? { synchronization.result?.code }
  package var result: SynchronizationResult? { synchronization.result }
  package var version: Int64 { synchronization.version }

  /// The changed entitlements that it tells.
  package var changes: [ToldChange] {
    events.filter { $0.topic == EventTopic.entitlementsChanged }.compactMap { try? ToldChange($0) }
  }
}

/// The members of an event about a changed entitlement.
package struct ToldChange: Equatable {
  package var customer: CustomerId
  package var version: Int64
  package var offer: OfferId
  package var cause: String
  /// Whether there was access; `nil` if nothing was told.
  package var before: Bool?
  package var after: Bool?

  package init(
    _ customer: CustomerId, _ version: Int64, _ offer: OfferId, _ cause: String, _ before: Bool?, _ after: Bool?
  ) {
    (self.customer, self.version, self.offer, self.cause) = (customer, version, offer, cause)
    (self.before, self.after) = (before, after)
  }

  package init(_ event: Event) throws {
    let data = try JSONText(event.body).decoded(as: Envelope.self).data
    self.init(
      data.customerId, data.customerVersion, data.offerId, data.cause, data.before?.accessGranted,
      data.after?.accessGranted)
  }

  private struct Envelope: Decodable { let data: Data }
  private struct Data: Decodable {
    let customerId: CustomerId
    let customerVersion: Int64
    let offerId: OfferId
    let cause: String
    let before: State?
    let after: State?
  }
  private struct State: Decodable { let accessGranted: Bool }
}

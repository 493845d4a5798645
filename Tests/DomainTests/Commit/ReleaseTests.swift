import Domain
import Testing

/// A purchase that the publisher releases, and rules that change, in the state of a commit.
struct ReleaseTests {
  private let day: Int64 = 86_400_000
  private let now: Int64 = 1_700_000_000_000
  private let ann = CustomerKey(publisherId: 7, id: "ann")

  private func publisher(_ offer: OfferId = "S1") -> Publisher {
    Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
      offers: OfferCatalog([Offer(id: offer, productIds: ["monthly"])]), webhooks: [])
  }

  private func purchase(_ original: OriginalTransactionId, endsIn days: Int64, owner: CustomerId? = "ann") throws
    -> Purchase
  {
    let facts = TransactionFacts(
      transactionId: original.firstTransaction, originalTransactionId: original, bundleId: "com.example",
      productId: "monthly",
      kind: .autoRenewable, environment: "Production", purchaseDate: now - day, expiresDate: now + days * day,
      signedDate: now - day, payloadSHA256: [1])
    return try #require(
      Purchase(
        PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: original), transactions: [facts],
        owner: owner.map { Owner(customerId: $0, subscriptionId: 100) }, version: 4))
  }

  private func told(until days: Int64, _ offer: OfferId = "S1") -> ToldEntitlement {
    ToldEntitlement(offerId: offer, accessGranted: true, expiresAt: now + days * day, environment: "Production")
  }

  private func state(_ purchase: Purchase, _ record: CustomerRecord) -> CommitState {
    CommitState(purchases: [purchase], customers: [ann: record], subscriptionIds: [], now: now)
  }

  @Test func `the owner loses the purchase and its access`() throws {
    let purchase = try purchase("1", endsIn: 9)
    var state = state(purchase, CustomerRecord(isKnown: true, version: 2, told: [told(until: 9)]))
    #expect(state.release(purchase.key, publisher: publisher(), traceparent: "trace") == purchase.owner)
    #expect(state.purchases[purchase.key]?.owner == nil)
    #expect(state.purchases[purchase.key]?.version == 5)
    #expect(state.changes.changedPurchases == [purchase.key])
    #expect(state.changes.offers == [purchase.key: "S1"])
    #expect(state.changes.endedOwnerships == [100])
    #expect(state.changes.begunOwnerships.isEmpty)
    #expect(state.customers[ann]?.version == 3)
    #expect(state.customers[ann]?.told == [])
    #expect(state.changes.customers == [ann])
    let event = try #require(state.changes.events.first)
    #expect(state.changes.events.count == 1)
    #expect(event.version == 3 && event.traceparent == "trace" && event.topic == EventTopic.entitlementsChanged)
    let body = String(decoding: event.body, as: UTF8.self)
    #expect(body.contains(#""cause":"release""#) && body.contains(#""before":{"#) && !body.contains(#""after":{"#))
  }

  @Test func `another purchase for the offer gives what is left`() throws {
    let purchase = try purchase("1", endsIn: 9)
    let record = CustomerRecord(
      isKnown: true, version: 2, told: [told(until: 9)], others: [try self.purchase("2", endsIn: 5)])
    var state = state(purchase, record)
    state.release(purchase.key, publisher: publisher())
    #expect(state.customers[ann]?.told.map(\.expiresAt) == [now + 5 * day])
    #expect(state.changes.events.count == 1)
  }

  @Test func `a purchase without an owner stays as it is`() throws {
    let purchase = try purchase("1", endsIn: 9, owner: nil)
    var state = CommitState(purchases: [purchase], customers: [:], subscriptionIds: [], now: now)
    #expect(state.release(purchase.key, publisher: publisher()) == nil)
    #expect(state.purchases[purchase.key] == purchase)
    #expect(state.changes.changedPurchases.isEmpty && state.changes.events.isEmpty)
  }

  @Test func `changed offers are told once`() throws {
    let record = CustomerRecord(
      isKnown: true, version: 2, told: [told(until: 9)], others: [try purchase("1", endsIn: 9)])
    var state = CommitState(purchases: [], customers: [ann: record], subscriptionIds: [], now: now)
    state.reevaluate(ann, publisher: publisher())
    #expect(state.changes.events.isEmpty && state.changes.customers.isEmpty)
    state.reevaluate(ann, publisher: publisher("S2"))
    #expect(state.changes.events.map(\.version) == [3, 3])
    #expect(state.changes.events.allSatisfy { String(decoding: $0.body, as: UTF8.self).contains(#""cause":"rules""#) })
    #expect(state.customers[ann]?.told == [told(until: 9, "S2")])
    state.reevaluate(ann, publisher: publisher("S2"))
    #expect(state.changes.events.count == 2)
  }
}

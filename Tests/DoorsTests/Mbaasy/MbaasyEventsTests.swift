import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain
@testable import Doors

/// The events of Mbaasy's contract, by the purchase before and after.
struct MbaasyEventsTests {
  private let door = MbaasyDoor(policy: DoorPolicy(customerPrefix: "mb:"), clientTokens: [])

  private func events(_ before: Purchase?, _ after: Purchase, job: Job? = nil) -> [Event] {
    MbaasyEvents.of(
      PurchaseChange(before: before, after: after, job: job, now: TestPurchases.at(9), traceparent: "trace"), door,
      MbaasyPurchaseTests.publisher)
  }

  private struct Body: Decodable {
    let id: String
    let type: String
    let name: String
    let data: [String: JSONValue]
    let previousAttributes: [String: JSONValue]
    let newAttributes: [String: JSONValue]
    let createdAt: JSONValue

    private enum CodingKeys: String, CodingKey {
      case id, type, name, data
      case previousAttributes = "previous_attributes"
      case newAttributes = "new_attributes"
      case createdAt = "created_at"
    }

    init(_ event: Event) throws {
      struct Envelope: Decodable { let data: Body }
      self = try JSONText(event.body).decoded(as: Envelope.self).data
    }
  }

  private func purchase(
    owner: CustomerId? = "mb:anna", version: Int64 = 1, _ change: (inout TransactionFacts) -> Void = { _ in }
  ) -> Purchase {
    var facts = TestPurchases.transaction(expires: 30)
    change(&facts)
    var purchase = TestPurchases.purchase(
      facts, renewal: TestPurchases.renewal(willRenew: true, signed: 1), owner: owner, version: version)
    if version > 0 { (purchase.createdAt, purchase.updatedAt) = (TestPurchases.at(1), TestPurchases.at(2)) }
    return purchase
  }

  private func time(_ days: Double) throws -> JSONValue {
    try JSONText(MbaasyValue.time(TestPurchases.at(days)).json).decoded()
  }

  @Test func `a new purchase is created`() throws {
    var new = purchase()
    (new.createdAt, new.updatedAt) = (nil, nil)
    let found = events(nil, new)
    let event = try #require(found.first)
    #expect(found.count == 1)
    #expect(event.topic == "in_app_purchase.created")
    #expect(event.publisherId == 7)
    #expect(event.customerId == "mb:anna")
    #expect(event.version == 1)
    #expect(event.time == TestPurchases.at(9))
    #expect(event.traceparent == "trace")
    let body = try Body(event)
    #expect(body.id == MbaasyIdentifier.event(event.id))
    #expect(body.type == "in_app_purchase")
    #expect(body.name == "in_app_purchase.created")
    #expect(try body.createdAt == time(9))
    #expect(body.data["user_identifier"] == .string("anna"))
    #expect(try body.data["created_at"] == time(9))
    #expect(try body.data["updated_at"] == time(9))
    #expect(body.previousAttributes.isEmpty)
    // Everything is new, except for what only counts looks.
    #expect(body.newAttributes == body.data.filter { !["version", "versions", "last_synced_at"].contains($0.key) })
  }

  @Test func `access while Apple is away ends with it, and its withdrawal is an update`() throws {
    var given = purchase()
    given.provisionalUntil = TestPurchases.at(10)
    let created = try Body(try #require(events(nil, given).first))
    #expect(try created.data["current_period_end_at"] == time(10))
    var withdrawn = purchase(version: 2)
    withdrawn.provisionalUntil = TestPurchases.at(9)
    let update = try Body(try #require(events(given, withdrawn).first))
    #expect(try update.previousAttributes["current_period_end_at"] == time(10))
    #expect(try update.newAttributes["current_period_end_at"] == time(9))
    // The answer that confirms it brings the end of the period.
    let confirmed = try Body(try #require(events(given, purchase(version: 2)).first))
    #expect(try confirmed.newAttributes["current_period_end_at"] == time(30))
  }

  @Test func `a product without a period has an end while Apple is away`() throws {
    var given = purchase { ($0.kind, $0.expiresDate) = (.nonConsumable, nil) }
    #expect(try Body(try #require(events(nil, given).first)).data["current_period_end_at"] == .null)
    given.provisionalUntil = TestPurchases.at(10)
    #expect(try Body(try #require(events(nil, given).first)).data["current_period_end_at"] == time(10))
  }

  @Test func `an update names the changed attributes only`() throws {
    let before = purchase()
    let after = purchase(version: 2) { ($0.purchaseDate, $0.expiresDate) = (TestPurchases.at(0), TestPurchases.at(60)) }
    let event = try #require(events(before, after).first)
    #expect(event.topic == "in_app_purchase.updated")
    #expect(event.version == 2)
    let body = try Body(event)
    #expect(body.name == "in_app_purchase.updated")
    #expect(try body.previousAttributes == ["current_period_end_at": time(30), "updated_at": time(2)])
    #expect(try body.newAttributes == ["current_period_end_at": time(60), "updated_at": time(9)])
    #expect(body.data["version"] == .integer(2))
    #expect(try body.data["created_at"] == time(1))
  }

  /// A change of each member of the resource, with the members that it changes.
  private static let changes: [(names: [String], change: @Sendable (inout Purchase) -> Void)] = [
    (["country_code"], { $0.attributes = PurchaseAttributes(countryCode: "FR") }),
    (["identifier_for_vendor"], { $0.attributes = PurchaseAttributes(identifierForVendor: "v") }),
    (["metadata"], { $0.attributes = PurchaseAttributes(metadata: Array("{}".utf8)) }),
    (["user_identifier"], { $0.owner = Owner(customerId: "mb:anna", subscriptionId: 1) }),
    (["product_id"], { $0.sign { $0.productId = "yearly" } }),
    (["entitlements", "product_id"], { $0.sign { $0.productId = "lifetime" } }),
    (["quantity"], { $0.sign { $0.quantity = 2 } }),
    (["currency_code"], { $0.sign { $0.currency = "EUR" } }),
    (["country_code"], { $0.sign { $0.storefront = "DEU" } }),
    (["in_trial_period"], { $0.sign { $0.offerDiscountType = "FREE_TRIAL" } }),
    (["purchased_at"], { $0.sign { $0.originalPurchaseDate = 5 } }),
    (["current_period_end_at"], { $0.sign { $0.expiresDate = 5 } }),
    (["current_period_start_at", "purchased_at"], { $0.sign { $0.purchaseDate = TestPurchases.at(0.5) } }),
    (["app_family_id", "app_identifier"], { $0.sign { $0.bundleId = "other" } }),
    (["canceled_at", "canceled_by"], { $0.sign { $0.revocationDate = 5 } }),
    (["canceled_by", "is_auto_renewing"], { $0.renew { $0.willRenew = false } }),
    (["in_grace_period"], { $0.renew { $0.isInBillingRetry = true } }),
    (["canceled_at", "canceled_by"], { $0.renew { $0.expirationIntent = 1 } }),
    (
      ["current_period_end_at", "current_period_start_at", "is_auto_renewing", "type"],
      { $0.sign { $0.kind = .nonConsumable } }
    ),
  ]

  @Test(arguments: changes.indices) func `every attribute is a change`(index: Int) throws {
    let (names, change) = Self.changes[index]
    let before = purchase(owner: nil)
    var after = before
    change(&after)
    after.version += 1
    let body = try Body(#require(events(before, after).first))
    #expect(body.previousAttributes.keys.sorted() == (names + ["updated_at"]).sorted())
    #expect(body.newAttributes.keys.sorted() == (names + ["updated_at"]).sorted())
    for name in names {
      #expect(body.previousAttributes[name] != body.newAttributes[name])
      #expect(body.newAttributes[name] == body.data[name])
    }
  }

  @Test func `what only counts looks is no change`() {
    let before = purchase()
    var after = before
    #expect(events(before, after).isEmpty)
    after.version += 1
    after.updatedAt = TestPurchases.at(8)
    after.sign { $0.revocationReason = 1 }  // Apple's reason without a revocation says nothing.
    #expect(events(before, after).isEmpty)
    after.attributes = PurchaseAttributes(couponCode: "SUMMER", ipAddress: "192.0.2.1")
    #expect(events(before, after).isEmpty)
  }

  @Test func `an event names one customer only`() throws {
    var before = purchase()
    before.attributes = PurchaseAttributes(identifierForVendor: "v", metadata: Array("{}".utf8))
    let moved = try #require(events(before, purchase(owner: "mb:bert", version: 2)).first)
    #expect(moved.customerId == "mb:bert")
    #expect(!String(decoding: moved.body, as: UTF8.self).contains("anna"))
    let body = try Body(moved)
    #expect(body.previousAttributes["user_identifier"] == .null)
    #expect(body.newAttributes["user_identifier"] == .string("bert"))
    #expect(body.newAttributes["metadata"] == nil)
    // Nobody owns it any more.
    let released = try #require(events(before, purchase(owner: nil, version: 2)).first)
    #expect(released.customerId == "mb:anna")
    let left = try Body(released)
    #expect(left.previousAttributes["user_identifier"] == .string("anna"))
    #expect(left.newAttributes["user_identifier"] == .null)
    #expect(left.previousAttributes["metadata"] == .object([:]))
    let nobody = try #require(events(nil, purchase(owner: nil)).first)
    #expect(nobody.customerId == nil)
  }

  @Test func `the same change has the same event`() throws {
    let (before, after) = (purchase(), purchase(owner: nil, version: 2))
    let job = TestCommit.job("mb:anna", id: "s1")
    let event = try #require(events(before, after).first)
    #expect(events(before, after) == [event])
    #expect(events(before, purchase(owner: nil, version: 3)).first?.id != event.id)
    #expect(events(before, after, job: job).first?.id != event.id)
    #expect(events(nil, after).first?.id != event.id)
  }

  @Test func `a door that is closed tells nothing`() {
    func told(_ doors: OpenDoors) -> Int {
      let publisher = Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers,
        doors: doors,
        webhooks: [])
      let change = PurchaseChange(before: nil, after: purchase(), now: 0)
      return DoorEvents.of(change, publisher).count { $0.topic == EventTopic.inAppPurchaseCreated }
    }
    #expect(told(OpenDoors()) == 0)
    #expect(told(OpenDoors(mbaasy: door)) == 1)
  }
}

extension Purchase {
  /// Signs the deciding transaction anew.
  fileprivate mutating func sign(_ change: (inout TransactionFacts) -> Void) {
    var facts = deciding
    facts.signedDate += 1
    change(&facts)
    merge(TestPurchases.evidence(.transaction(facts)))
  }

  /// Signs the renewal info anew.
  fileprivate mutating func renew(_ change: (inout RenewalFacts) -> Void) {
    guard var facts = renewal else { return }
    facts.signedDate += 1
    change(&facts)
    merge(TestPurchases.evidence(.renewalInfo(facts, status: nil)))
  }
}

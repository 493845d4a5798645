import DomainSupport
import Formats
import JSON

@testable import Domain
@testable import Doors

/// Changes of a purchase by value, as Cleeng's events tell them. Times are days of ``TestPurchases``.
enum CleengLab {
  static let offers = [
    Offer(id: "S1", productIds: ["monthly", "yearly"], tags: ["video", "sport"], coupons: ["SUMMER"]),
    Offer(id: "L1", productIds: ["lifetime"], tags: ["sport", "archive"]), Offer(id: "C1", productIds: ["coins"]),
    Offer(id: "P1", productIds: ["pass"], accessDays: 30),
  ]

  static func publisher(
    _ doors: OpenDoors = OpenDoors(cleeng: CleengDoor()), customers: Publisher.CustomerPolicy = .open,
    sandbox: SandboxAccess = .nobody
  ) -> Publisher {
    Publisher(
      id: 7, customers: customers, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog(offers),
      sandboxAccess: sandbox, doors: doors, webhooks: [])
  }

  static func job(
    _ customer: CustomerId = "42", _ transaction: TransactionId = "1", _ kind: Job.Kind = .registration,
    door: Door? = .cleeng,
    coupon: String? = nil, offer: OfferId? = "S1"
  ) -> Job {
    Job(
      synchronizationId: "s1", publisherId: 7, customerId: customer, transactionId: transaction, kind: kind, door: door,
      attributes: coupon.map { PurchaseAttributes(couponCode: $0) }, requestedOfferId: offer,
      registeredAt: TestPurchases.at(9))
  }

  /// A subscription of the month from day 0.
  static func subscription(
    _ owner: CustomerId?, _ subscriptionId: Int64 = 1, expires: Double = 30, version: Int64 = 1
  ) -> Purchase {
    var purchase = TestPurchases.purchase(TestPurchases.transaction(expires: expires), version: version)
    purchase.owner = owner.map { Owner(customerId: $0, subscriptionId: subscriptionId) }
    return purchase
  }

  /// The events of a change at day 10.
  static func events(
    _ before: Purchase?, _ after: Purchase, _ job: Job? = nil, _ result: ResultCode? = nil,
    publisher: Publisher = publisher()
  ) -> [Event] {
    let isGranted = [.purchaseSynchronized, .purchaseOwnershipTransferred].contains(result)
    let result = result.map { SynchronizationResult($0, accessGranted: isGranted) }
    return DoorEvents.of(
      PurchaseChange(before: before, after: after, job: job, result: result, now: TestPurchases.at(10)), publisher)
  }

  /// The body of an event as a text.
  static func text(_ event: Event) -> String { String(decoding: event.body, as: UTF8.self) }

  /// A member of an event's data.
  static subscript(event: Event?, name: ExactText) -> JSONValue? {
    guard let event, case .object(let envelope) = try? JSONText(event.body).decoded(as: JSONValue.self),
      case .object(let data) = envelope["data"]
    else { return nil }
    return data[name]
  }
}

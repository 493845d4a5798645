import Domain
import Formats
import JSON

/// The events of iaptic's door: `purchases.updated`, with the body that iaptic's webhooks have, but without `password`.
enum IapticEvents {
  /// Returns the events about a change: for the customer who owns the purchase, and for the one who lost it.
  static func of(_ change: PurchaseChange, _ door: IapticDoor, _ publisher: Publisher) -> [Event] {
    var events: [Event] = []
    if let owner = change.previousOwner {
      let left = change.previousHoldings.flatMap { shown($0, owner, publisher, change.now) }
      events += event(Told(owner, .other, "lost", left), change, door)
    }
    if let owner = change.after.owner, let reason = reason(of: change) {
      let others = change.holdings.filter { $0.key != change.after.key }
      let purchases = others.flatMap { shown($0, owner, publisher, change.now) } + changed(change, owner, publisher)
      events += event(Told(owner, reason, "", purchases), change, door)
    }
    return events
  }

  /// What one customer is told.
  private struct Told {
    let customerId: CustomerId
    let reason: IapticReason
    /// Part of the event's id: the commit of a transfer tells two customers.
    let part: String
    let purchases: [IapticPurchase]

    init(_ owner: Owner, _ reason: IapticReason, _ part: String, _ purchases: [IapticPurchase]) {
      (customerId, self.reason, self.part, self.purchases) = (owner.customerId, reason, part, purchases)
    }
  }

  private static func event(_ told: Told, _ change: PurchaseChange, _ door: IapticDoor) -> [Event] {
    guard let user = door.policy.user(of: told.customerId) else { return [] }
    let (key, deciding, topic) = (change.after.key, change.after.deciding, EventTopic.purchasesUpdated)
    let version = change.after.version
    let parts = [
      key.environment.text, key.originalTransactionId.text, String(version), change.job?.synchronizationId.text ?? "",
      told.part,
    ]
    let all = told.purchases.map { purchase in
      var purchase = purchase
      purchase.entitledUsers = [user]
      return purchase
    }
    let purchases = IapticPurchase.fitting(all, first: deciding.productId, bytes: mostPurchaseBytes)
    let omitted = IapticPurchase.lastOfEachProduct(all).count - purchases.count
    return [
      Event(
        of: parts, publisherId: key.publisherId, customerId: told.customerId, topic: topic, version: version,
        time: change.now, traceparent: change.traceparent
      ) { data in
        data.member("type", topic)
        data.member("applicationUsername", user)
        data.member("purchases", json: IapticPurchase.collection(purchases))
        data.member("omittedPurchases", omitted > 0 ? Int64(omitted) : nil)
        data.member("notification") { notification in
          notification.member("reason", told.reason.rawValue)
          notification.member("id", Event.id(key.publisherId, topic, parts))
          notification.member("date", rfc3339(milliseconds: change.now))
          notification.member("productId", IapticPurchase.prefixed(deciding.productId))
          notification.member("purchaseId", IapticPurchase.prefixed(key.originalTransactionId))
          notification.member("transactionId", IapticPurchase.prefixed(deciding.transactionId))
        }
      }
    ]
  }

  /// The most bytes of an event's purchases, which leaves room for the rest of it. A customer of an app with many
  /// products may have more; the event says how many are missing, and `GET /v2/customers/…/purchases` has all.
  private static let mostPurchaseBytes = 48 << 10

  // MARK: The reason

  /// Why the owner is told; `nil` if there is nothing to tell.
  static func reason(of change: PurchaseChange) -> IapticReason? {
    if let job = change.job, job.kind == .registration, change.result?.code.isOfVerifiedPurchase == true,
      change.after.owner?.is(job.customerId) == true
    {
      return reasonOfNews(change) == nil ? .receiptRefreshed : .receiptValidated
    }
    return reasonOfNews(change)
  }

  /// What a receiver sees of the news; `nil` if nothing. Apple signs the same facts anew whenever it is asked.
  private static func reasonOfNews(_ change: PurchaseChange) -> IapticReason? {
    guard change.isNews else { return nil }
    guard let before = change.before else { return IapticReason.of(before: nil, after: change.after, now: change.now) }
    if before.owner != change.after.owner { return .other }
    let reason = IapticReason.of(before: before, after: change.after, now: change.now)
    let (old, new) = (before.deciding, change.after.deciding)
    func shown(_ purchase: Purchase) -> [IapticPurchase] {
      var purchases = IapticPurchase.of(purchase, rules: .none, now: change.now)
      // Another id of the same payment is no change.
      if new.isCopy(of: old), !purchases.isEmpty { purchases[0].transactionId = old.transactionId }
      return purchases
    }
    return reason == .other && shown(before) == shown(change.after) ? nil : reason
  }

  // MARK: The purchases

  private static func shown(
    _ purchase: Purchase, _ owner: Owner, _ publisher: Publisher, _ now: Int64
  ) -> [IapticPurchase] {
    IapticPurchase.of(purchase, rules: publisher.accessRules(for: owner), now: now)
  }

  /// The changed purchase, with the time at which the customer changed the intent to renew, if that is the change.
  private static func changed(_ change: PurchaseChange, _ owner: Owner, _ publisher: Publisher) -> [IapticPurchase] {
    var purchases = shown(change.after, owner, publisher, change.now)
    if let new = change.after.presentRenewal, let willRenew = new.willRenew,
      let before = change.before?.presentRenewal?.willRenew, before != willRenew, !purchases.isEmpty
    {
      purchases[0].renewalIntentChangeDate = new.signedDate
    }
    return purchases
  }
}

extension ResultCode {
  /// Whether the purchase was verified for the customer who asked.
  fileprivate var isOfVerifiedPurchase: Bool {
    let results: [Self] = [
      .purchaseSynchronized, .receivedExpiredPurchase, .purchaseRevoked, .offerNotFound, .sandboxNotAllowed,
      .offerMismatch,
    ]
    return results.contains(self)
  }
}

import Domain
import Formats
import JSON

/// The events of Cleeng's contract for purchases in app stores.
///
/// `subscriptionTerminated` and `subscriptionCreated` tell that a customer's period of ownership has ended or begun,
/// whichever API caused it. `inappPurchaseValidationSucceeded` and `inappPurchaseValidationFailed` tell the result of
/// a payment at the door. On a transfer they come in this order: terminated, created, succeeded.
enum CleengEvents {
  /// The `result` of `inappPurchaseValidationSucceeded`.
  enum Success: String, CaseIterable {
    /// Nobody owned the purchase.
    case created = "SubscriptionCreated"
    /// Another customer owned the purchase.
    case transferred = "SubscriptionTransferred"
    /// The customer owned the purchase, and had access.
    case synchronized = "SubscriptionSynchronized"
    /// The customer owned the purchase, and had no access any more.
    case revived = "SubscriptionRevived"
  }

  /// Returns the events of a change, in their order.
  static func of(_ change: PurchaseChange, _ publisher: Publisher) -> [Event] {
    var events = [
      terminated(change, publisher), ended(change, publisher), resumed(change, publisher), created(change, publisher),
    ].compactMap(\.self)
    if let job = change.job, job.door == .cleeng, let result = change.result {
      events.append(
        succeeded(change, job, result, publisher)
          ?? failed(job, result, about: change.after, now: change.now))
    }
    return events
  }

  // MARK: Periods of ownership

  /// The end of a customer's period of ownership.
  private static func terminated(_ change: PurchaseChange, _ publisher: Publisher) -> Event? {
    guard let purchase = change.before, let owner = purchase.owner, !change.keepsPeriod, purchase.isSubscription else {
      return nil
    }
    let subscription = CleengSubscription(purchase, of: owner.customerId, publisher: publisher, now: change.now)
    return event(EventTopic.subscriptionTerminated, [String(owner.subscriptionId)], change, of: owner) { data in
      // The customer's access ends now, although the period that was paid goes on.
      let end = subscription.access.isGranted ? change.now : subscription.expiresAt
      writeEnded(subscription, at: end, of: owner, to: &data)
    }
  }

  /// The end of access while the customer stays the owner: the period is over, Apple gave the money back, or did not
  /// confirm what it signed while it was away.
  private static func ended(_ change: PurchaseChange, _ publisher: Publisher) -> Event? {
    guard let before = change.before, let owner = change.after.owner, change.keepsPeriod, before.isSubscription else {
      return nil
    }
    let now = CleengSubscription(change.after, of: owner.customerId, publisher: publisher, now: change.now)
    guard change.gaveAccess(before, to: owner, publisher), !now.access.isGranted else { return nil }
    // The end of the ownership has an event of its own.
    let names = [String(owner.subscriptionId), "ended", String(change.after.version)]
    return event(EventTopic.subscriptionTerminated, names, change, of: owner) { data in
      writeEnded(now, at: now.expiresAt, of: owner, to: &data)
    }
  }

  /// Access that came back without a registration: the customer paid again, or Apple took a refund back.
  private static func resumed(_ change: PurchaseChange, _ publisher: Publisher) -> Event? {
    guard let before = change.before, let owner = change.after.owner, change.keepsPeriod, before.isSubscription,
      change.job == nil
    else { return nil }
    let now = CleengSubscription(change.after, of: owner.customerId, publisher: publisher, now: change.now)
    guard !change.gaveAccess(before, to: owner, publisher), now.access.isGranted else { return nil }
    let names = [String(owner.subscriptionId), "resumed", String(change.after.version)]
    return event(EventTopic.subscriptionCreated, names, change, of: owner) { data in
      data.member("active", true)
      write(now, until: now.expiresAt, to: &data)
      data.member("paymentGateway", gateway)
      data.member("subscriptionId", owner.subscriptionId)
    }
  }

  /// The beginning of a customer's period of ownership. A purchase that gives no access makes no subscription.
  private static func created(_ change: PurchaseChange, _ publisher: Publisher) -> Event? {
    guard let owner = change.after.owner, !change.keepsPeriod, change.after.isSubscription else { return nil }
    let subscription = CleengSubscription(change.after, of: owner.customerId, publisher: publisher, now: change.now)
    guard subscription.access.isGranted else { return nil }
    return event(EventTopic.subscriptionCreated, [String(owner.subscriptionId)], change, of: owner) { data in
      data.member("active", true)
      write(subscription, until: subscription.expiresAt, to: &data)
      data.member("paymentGateway", gateway)
      writePrevious(change, to: &data)
      data.member("subscriptionId", owner.subscriptionId)
    }
  }

  // MARK: Payments

  /// The result of a payment that gives access; `nil` for any other result.
  private static func succeeded(
    _ change: PurchaseChange, _ job: Job, _ result: SynchronizationResult, _ publisher: Publisher
  ) -> Event? {
    guard result.accessGranted, let owner = change.after.owner else { return nil }
    let subscription = CleengSubscription(change.after, of: owner.customerId, publisher: publisher, now: change.now)
    return event(EventTopic.validationSucceeded, names(of: job), change, of: owner) { data in
      data.member("active", true)
      write(subscription, until: subscription.expiresAt, transactionId: job.transactionId, to: &data)
      data.member("paymentGateway", gateway)
      writePrevious(change, to: &data)
      data.member("result", success(of: change, publisher).rawValue)
      data.member("subscriptionId", owner.subscriptionId)
    }
  }

  private static func success(of change: PurchaseChange, _ publisher: Publisher) -> Success {
    guard let before = change.before, let owner = before.owner else { return .created }
    guard change.keepsPeriod else { return .transferred }
    let access = Access.of(before, rules: publisher.accessRules(for: owner), now: change.now)
    return access.isGranted ? .synchronized : .revived
  }

  /// The result of a payment that gives no access.
  ///
  /// - Parameter purchase: what the ledger knows; `nil` if it knows no purchase with the transaction.
  static func failed(_ job: Job, _ result: SynchronizationResult, about purchase: Purchase?, now: Int64) -> Event {
    Event(
      of: names(of: job), publisherId: job.publisherId,
      // As in the event of the synchronization: the ledger does not find an erased customer again.
      customerId: result.code == .customerErased ? nil : job.customerId,
      topic: EventTopic.validationFailed, version: purchase?.version ?? 0, time: now, traceparent: job.traceparent
    ) { data in
      data.member("couponCode", job.attributes?.couponCode)
      data.cleengId("customerId", job.customerId)
      data.member("inAppSpecificData") { data in
        data.member("environment", purchase?.key.environment)
        data.member("originalTransactionId", purchase?.key.originalTransactionId)
        data.member("productId", purchase?.deciding.productId)
        data.member("transactionId", job.transactionId)
      }
      data.member("offerId", job.requestedOfferId)
      data.member("paymentGateway", gateway)
      data.member("result", CleengFailure(result.code).rawValue)
    }
  }

  // MARK: Parts

  /// Cleeng's name of the App Store.
  static let gateway = "apple"

  /// A synchronization has one result, so it names one event.
  private static func names(of job: Job) -> [String] {
    [job.synchronizationId.text, job.transactionId.text, job.customerId.text]
  }

  private static func event(
    _ topic: EventTopic, _ names: [String], _ change: PurchaseChange, of owner: Owner,
    _ data: (inout JSONWriter) -> Void
  ) -> Event {
    Event(
      of: names, publisherId: change.after.key.publisherId, customerId: owner.customerId, topic: topic,
      version: change.after.version, time: change.now, traceparent: change.traceparent, data: data)
  }

  /// Writes the members from `couponCode` to `offerType`.
  private static func write(
    _ subscription: CleengSubscription, until end: Int64?, transactionId: TransactionId? = nil,
    to data: inout JSONWriter
  ) {
    data.member("couponCode", subscription.purchase.attributes?.couponCode)
    data.cleengId("customerId", subscription.customerId)
    data.member("expirationDate", end.map(rfc3339(milliseconds:)))
    subscription.writeAppleData(to: &data, transactionId: transactionId)
    data.member("inTrial", subscription.isInTrial)
    data.member("offerId", subscription.access.offerId)
    data.member("offerType", subscription.offerType)
  }

  /// Writes the members of `subscriptionTerminated`.
  private static func writeEnded(
    _ subscription: CleengSubscription, at end: Int64?, of owner: Owner, to data: inout JSONWriter
  ) {
    data.member("active", false)
    write(subscription, until: end, to: &data)
    data.member("paymentGateway", gateway)
    data.member("subscriptionId", owner.subscriptionId)
  }

  /// Writes whom a transfer took the purchase from.
  private static func writePrevious(_ change: PurchaseChange, to data: inout JSONWriter) {
    guard let owner = change.before?.owner, !change.keepsPeriod else { return }
    // A text may be an e-mail address, and an erasure of that customer would not find it here.
    data.member("prevCustomerId", owner.customerId.number)
    data.member("prevSubscriptionId", owner.subscriptionId)
  }
}

extension PurchaseChange {
  /// Whether the period of ownership is the same as before the change, or nobody owned the purchase and nobody does.
  fileprivate var keepsPeriod: Bool { before?.owner?.subscriptionId == after.owner?.subscriptionId }

  /// Whether the purchase gave its owner access when the ledger wrote it last. What has changed since, by the clock
  /// too, has not been told.
  fileprivate func gaveAccess(_ before: Purchase, to owner: Owner, _ publisher: Publisher) -> Bool {
    let rules = publisher.accessRules(for: owner)
    return Access.of(before, rules: rules, now: before.updatedAt ?? now).isGranted
  }
}

extension Purchase {
  /// Whether Cleeng would call the purchase a subscription: a product that lasts. A consumable is used up.
  fileprivate var isSubscription: Bool { deciding.kind != .consumable }
}

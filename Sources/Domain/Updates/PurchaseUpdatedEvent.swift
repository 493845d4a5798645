import Formats
import JSON

/// A change of a purchase, as the event `purchaseUpdated` tells it: the whole state, the state before, and the reason.
struct PurchaseUpdatedEvent {
  /// The purchase before; `nil` if it is new to the ledger.
  let before: Purchase?
  let after: Purchase
  let reason: LifeCycleReason
  let publisher: Publisher
  /// Milliseconds since 1970.
  let now: Int64

  /// Whether a reader of the purchase sees a difference.
  var isVisible: Bool {
    guard let before else { return true }
    // Another id of the same payment is no change.
    let name = after.deciding.isCopy(of: before.deciding) ? before.deciding.transactionId : nil
    return bare(before) != bare(after, named: name)
  }

  private func bare(_ purchase: Purchase, named name: TransactionId? = nil) -> [UInt8] {
    JSONWriter.object { PurchaseDocument(purchase, publisher, isBare: true, named: name, now: now).write(to: &$0) }
  }

  func event(traceparent: String?) -> Event {
    let key = after.key
    // An event names one customer only, so that an erasure finds it. After a change of the owner that is the new one.
    let isOther = before?.owner != nil && before?.owner != after.owner
    return Event(
      of: [key.environment.text, key.originalTransactionId.text, String(after.version)], publisherId: key.publisherId,
      customerId: after.owner?.customerId ?? before?.owner?.customerId, topic: EventTopic.purchaseUpdated,
      version: after.version, time: now, traceparent: traceparent
    ) { data in
      if var before {
        data.member("previous") { writer in
          if isOther { before.owner = nil }
          // As it was told then: by the clock of the ledger's last write.
          PurchaseDocument(before, publisher, now: before.updatedAt ?? now).write(to: &writer)
        }
      }
      data.member("purchase") { PurchaseDocument(after, publisher, now: now).write(to: &$0) }
      data.member("reason", reason.rawValue)
    }
  }
}

import Domain
import Formats
import JSON

/// The events of Mbaasy's contract: a purchase is new, or its attributes have changed.
enum MbaasyEvents {
  /// Returns the event of a change; none if no attribute has changed.
  static func of(_ change: PurchaseChange, _ door: MbaasyDoor, _ publisher: Publisher) -> [Event] {
    var after = MbaasyPurchase(change.after, publisher: publisher, policy: door.policy)
    // The ledger writes these times with the commit.
    after.createdAt = after.createdAt ?? change.now
    after.updatedAt = change.now
    guard let known = change.before else {
      return [event(of: change, EventTopic.inAppPurchaseCreated, after, was: [], is: told(after.members))]
    }
    let before = MbaasyPurchase(named(known, in: change), publisher: publisher, policy: door.policy)
    let changed = zip(before.members, after.members).filter { $0.json != $1.json }
    guard changed.contains(where: { $0.0.kind == .attribute }) else { return [] }
    return [
      event(
        of: change, EventTopic.inAppPurchaseUpdated, after, was: told(changed.map(\.0)), is: told(changed.map(\.1)))
    ]
  }

  /// The purchase before, as the event may name it.
  ///
  /// An event names one customer only, so that an erasure finds it. After a transfer that is the new owner, and the
  /// event tells nothing of the earlier one.
  private static func named(_ before: Purchase, in change: PurchaseChange) -> Purchase {
    guard let old = before.owner, let new = change.after.owner, !new.is(old.customerId) else { return before }
    var before = before
    (before.owner, before.attributes) = (nil, nil)
    return before
  }

  private static func told(_ members: [MbaasyPurchase.Member]) -> [MbaasyPurchase.Member] {
    members.filter { $0.kind != .bookkeeping }
  }

  private static func event(
    of change: PurchaseChange, _ topic: EventTopic, _ purchase: MbaasyPurchase, was: [MbaasyPurchase.Member],
    is now: [MbaasyPurchase.Member]
  ) -> Event {
    let key = change.after.key
    let parts = [
      key.environment.text, key.originalTransactionId.text, String(change.after.version),
      change.job?.synchronizationId.text ?? "",
    ]
    return Event(
      of: parts, publisherId: key.publisherId,
      customerId: change.after.owner?.customerId ?? change.before?.owner?.customerId, topic: topic,
      version: change.after.version, time: change.now, traceparent: change.traceparent
    ) { body in
      body.member("id", MbaasyIdentifier.event(Event.id(key.publisherId, topic, parts)))
      body.member("type", "in_app_purchase")
      body.member("name", topic)
      body.member("data", purchase.write)
      body.member("previous_attributes") { attributes in
        for member in was { attributes.member(member.name, json: member.json) }
      }
      body.member("new_attributes") { attributes in
        for member in now { attributes.member(member.name, json: member.json) }
      }
      body.member("created_at", MbaasyValue.time(change.now))
    }
  }
}

/// The events by which the doors of a publisher tell a change, each in its vendor's form.
enum DoorEvents {
  /// The events of a change, in the order in which they are published.
  static func of(_ change: PurchaseChange, _ publisher: Publisher) -> [Event] {
    var events: [Event] = []
    if publisher.doors.cleeng != nil { events += CleengEvents.of(change, publisher) }
    if let door = publisher.doors.iaptic { events += IapticEvents.of(change, door, publisher) }
    if let door = publisher.doors.mbaasy { events += MbaasyEvents.of(change, door, publisher) }
    return events
  }

  /// The events of a job that ended without a purchase.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func ofFailure(_ job: Job, _ outcome: Outcome, _ publisher: Publisher, now: Int64) -> [Event] {
    guard job.door == .cleeng, publisher.doors.cleeng != nil else { return [] }
    return [CleengEvents.failed(job, outcome, about: nil, now: now)]
  }
}

extension CommitState {
  /// Tells a change to the doors that the publisher has opened.
  ///
  /// - Parameters:
  ///   - before: the purchase before the commit; `nil` if it is new to the ledger.
  ///   - after: `nil` if the job ended without a purchase.
  mutating func tellDoors(
    _ before: Purchase?, _ after: Purchase?, _ publisher: Publisher, job: Job? = nil, outcome: Outcome? = nil,
    isNews: Bool = true, traceparent: String?
  ) {
    guard publisher.doors.isAnyOpen else { return }
    guard let after else {
      if let job, let outcome { changes.events += DoorEvents.ofFailure(job, outcome, publisher, now: now) }
      return
    }
    func holdings(of owner: Owner?) -> [Purchase] {
      owner.map { self.holdings(of: after.key.customer($0.customerId)) } ?? []
    }
    let lost = PurchaseChange.previousOwner(before, after)
    changes.events += DoorEvents.of(
      PurchaseChange(
        before: before, after: after, job: job, outcome: outcome, isNews: isNews, holdings: holdings(of: after.owner),
        previousHoldings: holdings(of: lost), now: now, traceparent: traceparent), publisher)
  }
}

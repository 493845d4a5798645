extension CommitState {
  /// Tells a change to the doors that the publisher has opened. Their events come in the doors' order.
  ///
  /// - Parameters:
  ///   - before: the purchase before the commit; `nil` if it is new to the ledger.
  ///   - after: `nil` if the job ended without a purchase.
  mutating func tellDoors(
    _ before: Purchase?, _ after: Purchase?, _ publisher: Publisher, job: Job? = nil,
    result: SynchronizationResult? = nil,
    isNews: Bool = true, traceparent: String?
  ) {
    let doors = publisher.doors.all
    if doors.isEmpty { return }
    guard let after else {
      if let job, let result {
        changes.events += doors.flatMap { $0.events(ofFailed: job, result, publisher, now: now) }
      }
      return
    }
    func holdings(of owner: Owner?) -> [Purchase] {
      owner.map { self.holdings(of: after.key.customer($0.customerId)) } ?? []
    }
    let lost = PurchaseChange.previousOwner(before, after)
    let change = PurchaseChange(
      before: before, after: after, job: job, result: result, isNews: isNews, holdings: holdings(of: after.owner),
      previousHoldings: holdings(of: lost), now: now, traceparent: traceparent)
    changes.events += doors.flatMap { $0.events(of: change, publisher) }
  }
}

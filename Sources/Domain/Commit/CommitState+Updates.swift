/// A commit may bring news of Apple's and a new owner at once, such as a registration whose answer shows a renewal.
/// Each of the two is an event with a version of its own: a subscriber that waits for one does not find the other.
extension CommitState {
  /// Raises a purchase's version: once, and once more if a new owner comes to other news.
  ///
  /// - Parameters:
  ///   - known: the purchase before the commit; `nil` for one that is new to the ledger.
  ///   - isNamed: whether a notification names a reason, which is told also if nothing else is visible.
  mutating func touch(_ key: PurchaseKey, after known: Purchase?, _ publisher: Publisher?, isNamed: Bool = false) {
    touch(key)
    guard let known, let publisher, let present = purchases[key] else { return }
    if newsBeforeOwner(known, present, publisher, isNamed: isNamed) != nil { touch(key) }
  }

  /// Tells what changed: first the news, under the owner before, then the new owner.
  ///
  /// The version of the purchase was raised by ``touch(_:after:_:isNamed:)``, for the same purchases.
  mutating func tellUpdates(
    _ before: Purchase?, _ after: Purchase, _ publisher: Publisher, reason: LifeCycleReason?, traceparent: String?
  ) {
    guard let before, let news = newsBeforeOwner(before, after, publisher, isNamed: reason != nil) else {
      return tellUpdate(before, after, publisher, reason: reason, traceparent: traceparent)
    }
    tellUpdate(before, news, publisher, reason: reason, traceparent: traceparent)
    tellUpdate(news, after, publisher, reason: .ownerChanged, traceparent: traceparent)
  }

  /// The purchase with its news, and still with the owner before; `nil` unless both changed.
  private func newsBeforeOwner(
    _ before: Purchase, _ after: Purchase, _ publisher: Publisher, isNamed: Bool
  ) -> Purchase? {
    guard before.owner != after.owner else { return nil }
    var news = after
    news.owner = before.owner
    news.version -= 1
    let change = PurchaseUpdatedEvent(before: before, after: news, reason: .changed, publisher: publisher, now: now)
    return isNamed || change.isVisible || hasEnded(before, now: news, publisher) ? news : nil
  }
}

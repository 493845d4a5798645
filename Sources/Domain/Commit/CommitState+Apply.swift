import Formats

/// News that no registration brought (design.md: evidence, not messages).
extension CommitState {
  /// Merges what Apple signed about a purchase, and tells what changed by it, or by the time that has passed.
  ///
  /// A purchase that nobody has registered is kept. It belongs at once to the owner of the purchase whose place it
  /// took, or to the customer whose `appAccountToken` it carries; else to the first customer who proves it. What is
  /// past is not told while nobody owns it: it may be from long before the fleet knew the app (decision 0063).
  ///
  /// - Returns: the events to publish, in their order.
  public mutating func apply(_ update: PurchaseUpdate) -> [Event] {
    let (key, firstEvent) = (update.key, changes.events.count)
    let known = purchases[key]
    let isNews = merge(update.evidence, into: key)
    if isNews { _ = settleProvision(of: key, .evidence(key, update.evidence)) }
    defer { if case .notification(let uuid, _) = update.source { note(uuid, of: key.publisherId, isNews: isNews) } }
    guard let before = purchases[key] else { return [] }
    let followers = handOn(key).filter { $0 != key }
    claimByToken(key)
    let isEnd = known.map { hasEnded($0, now: before, update.publisher) } ?? false
    let reason = isNews ? update.reason(after: known) : nil
    if isNews || isEnd || purchases[key]?.owner != before.owner {
      touch(key, after: known, update.publisher, isNamed: reason != nil)
    } else if case .timer = update.source {
      // What is stale does not put off a look that is due.
      look(key)
    }
    settle(
      key, update.publisher, before: known, reversed: update.reversed,
      isConfirmed: (isNews || update.evidence.isEmpty) && update.isAnswer)
    // Two looks have a pause between them, also if this worker's clock is behind the ledger's.
    if case .timer = update.source, let next = changes.dueTimes[key] {
      changes.dueTimes[key] = max(next, now.adding(PurchaseTimer.pause))
    }
    if case .timer(.away(let until)) = update.source {
      let next = until ?? purchases[key].map { PurchaseTimer.retry(after: now, $0) } ?? now
      changes.dueTimes[key] = changes.dueTimes[key].map { min($0, next) } ?? next
    }
    guard let after = purchases[key] else { return [] }
    let isByTime = isEnd && !isNews
    tellOwner(of: after, isByTime ? .time : .evidence, update.publisher, update.traceparent)
    let isTold = after.owner != nil || known?.owner != nil || !update.isPast || isByTime
    if isTold, isNews || isEnd || after.owner != known?.owner {
      tellUpdates(known, after, update.publisher, reason: reason, traceparent: update.traceparent)
      tellDoors(known, after, update.publisher, isNews: isNews || isEnd, traceparent: update.traceparent)
    }
    if let notice = update.refund { take(notice, of: after, update) }
    for follower in followers { tellFollower(follower, update.publisher, traceparent: update.traceparent) }
    return Array(changes.events[firstEvent...])
  }

  // MARK: The owner

  /// Gives a purchase that nobody owns to the customer whose `appAccountToken` Apple signed. If several customers have
  /// the token, nobody gets it. A family member's purchase carries no token of the member's.
  private mutating func claimByToken(_ key: PurchaseKey) {
    guard let purchase = purchases[key], purchase.owner == nil, !purchase.hadOwner, !purchase.deciding.isShared,
      let token = purchase.deciding.appAccountToken?.canonical, !token.isNil
    else { return }
    let holders = customers.filter { customer, record in
      customer.publisherId == key.publisherId && record.isKnown && record.appAccountToken?.canonical == token
    }
    guard holders.count == 1, let holder = holders.first?.key, mayGive else { return }
    give(key, to: holder, .appAccountToken, by: .publisher)
  }

  // MARK: Telling

  /// Whether the purchase gave access when the ledger wrote it last, and gives none now.
  func hasEnded(_ known: Purchase, now present: Purchase, _ publisher: Publisher) -> Bool {
    // An override of the sandbox tells its end itself.
    let rules = publisher.rules(for: present.owner).settled(at: now)
    let then = known.updatedAt ?? now
    return Access.of(known, rules: rules, now: then).isGranted && !Access.of(present, rules: rules, now: now).isGranted
  }

  private mutating func tellOwner(
    of purchase: Purchase, _ cause: EntitlementChange.Cause, _ publisher: Publisher, _ traceparent: String?
  ) {
    guard let owner = purchase.owner else { return }
    let customer = purchase.key.customer(owner.customerId)
    tellEntitlements(of: customer, rules: rules(for: customer, publisher), cause, traceparent: traceparent)
  }

  /// Tells that a purchase changed, if a reader sees a difference, or if a notification names a reason.
  ///
  /// Apple signs the same facts anew whenever somebody asks. That is no change for anybody.
  mutating func tellUpdate(
    _ before: Purchase?, _ after: Purchase, _ publisher: Publisher, reason: LifeCycleReason?, traceparent: String?
  ) {
    let isEnd = before.map { hasEnded($0, now: after, publisher) } ?? false
    let change = PurchaseUpdatedEvent(
      before: before, after: after, reason: reason ?? .of(before: before, after: after, isEnd: isEnd),
      publisher: publisher, now: now)
    guard reason != nil || isEnd || change.isVisible else { return }
    changes.events.append(change.event(traceparent: traceparent))
  }

  /// Writes and tells a purchase that follows its predecessor's owner.
  mutating func tellFollower(_ key: PurchaseKey, _ publisher: Publisher, traceparent: String?) {
    guard let after = purchases[key] else { return }
    var before = after
    before.owner = nil
    touch(key)
    settle(key, publisher, before: nil)
    guard let told = purchases[key] else { return }
    tellOwner(of: told, .transfer, publisher, traceparent)
    if silence.hidesPurchase { return }
    tellUpdate(before, told, publisher, reason: .ownerChanged, traceparent: traceparent)
    tellDoors(before, told, publisher, traceparent: traceparent)
  }
}

extension PurchaseUpdate {
  /// The transactions of which Apple itself says that it took the refund back.
  fileprivate var reversed: Set<TransactionId> {
    guard case .notification(_, .refundReversed) = source else { return [] }
    return Set(
      evidence.compactMap { piece in
        if case .transaction(let facts) = piece.facts { facts.transactionId } else { nil }
      })
  }

  /// Why the purchase changed, if a notification says so. A period does not begin again because Apple gives its
  /// transaction another id.
  ///
  /// - Parameter known: the purchase before the news; `nil` if it is new to the ledger.
  fileprivate func reason(after known: Purchase?) -> LifeCycleReason? {
    guard case .notification(_, let named?) = source else { return nil }
    guard named.isOfNewPeriod, let known else { return named }
    let isKnown = evidence.contains { piece in
      if case .transaction(let facts) = piece.facts { known.hasCopy(of: facts) } else { false }
    }
    return isKnown ? nil : named
  }

  /// Whether Apple has answered a look.
  fileprivate var isAnswer: Bool {
    if case .timer(.told) = source { true } else { false }
  }
}

extension Publisher {
  /// The rules for a purchase's owner. For a purchase of nobody's the sandbox counts, too: nobody gets access.
  func rules(for owner: Owner?) -> AccessRules {
    owner.map { accessRules(for: $0) } ?? AccessRules(offers: offers, allowsSandbox: true)
  }
}

/// What somebody makes happen.
extension Life {
  /// What an action leads to.
  struct Effect: Equatable, Sendable {
    /// What Apple tells about this life; `nil` when it tells nothing.
    var notice: LifeNotice?
    /// The life that takes the place of this one.
    var successor: Life?
    /// What Apple tells about the successor.
    var successorNotice: LifeNotice?
  }

  /// Lets something happen now.
  ///
  /// - Parameter now: UNIX milliseconds.
  /// - Throws: when the life is in no state for it.
  mutating func apply(
    _ action: LifeAction, at now: Int64, _ numbers: inout LifeNumbers
  ) throws(ControlRefusal) -> Effect {
    switch action {
    case .renew(let period):
      try demand(isSubscription && state != .upgraded, "only a subscription renews")
      if let period { next.period = period }
      return Effect(notice: renew(at: now, isDue: false, &numbers))
    case .fail(let grace, let isAtEnd):
      try demand(isSubscription && state == .active, "only an active subscription can fail to renew")
      if isAtEnd {
        willRenew = true
        atEnd = .fails(grace: grace)
        return Effect()
      }
      return Effect(notice: fail(grace: grace, at: now, since: min(now, latest.expiresDate ?? now), &numbers))
    case .recover:
      try demand(state == .grace || state == .billingRetry, "only a subscription whose renewal failed recovers")
      return Effect(notice: renew(at: now, isDue: false, &numbers))
    case .endGrace:
      try demand(state == .grace, "the life is in no grace period")
      return Effect(notice: endGrace(at: now, &numbers))
    case .expire(let reason, let isAtEnd): return try expire(reason, isAtEnd: isAtEnd, at: now, &numbers)
    case .upgrade(let upgrade): return try self.upgrade(upgrade, at: now, &numbers)
    case .downgrade(let product, let period):
      return try downgrade(to: terms.product(product), period: period)
    case .refund, .reverse, .declineRefund, .revoke, .requestRefund:
      return Effect(notice: try takeBack(action, at: now, &numbers))
    case .extend(let days):
      try demand(isSubscription && state == .active, "only an active subscription can be extended")
      transactions[transactions.count - 1].expiresDate? += scale.days(days)
      transactions[transactions.count - 1].revision = numbers.revision()
      return Effect(notice: changed(LifeNotice("RENEWAL_EXTENDED", nil, latest.id)))
    case .setRenewal(let isOn):
      try demand(isSubscription && hasCourse, "the renewal of this life can no longer be turned on or off")
      willRenew = isOn
      let subtype = isOn ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED"
      return Effect(notice: changed(LifeNotice("DID_CHANGE_RENEWAL_STATUS", subtype, latest.id)))
    case .increasePrice(let price, let isAccepted):
      try demand(isSubscription && state == .active, "only an active subscription can get another price")
      if let price { next.price = price }
      priceIncreaseStatus = isAccepted ? 1 : 0
      return Effect(notice: changed(LifeNotice("PRICE_INCREASE", isAccepted ? "ACCEPTED" : "PENDING", latest.id)))
    case .redeem(let offer):
      try demand(isSubscription && state == .active, "only an active subscription takes an offer")
      next.offer = offer
      return Effect(notice: changed(LifeNotice("OFFER_REDEEMED", nil, latest.id)))
    }
  }

  /// Whether anything can still happen by itself.
  private var hasCourse: Bool { state == .active || state == .grace || state == .billingRetry }

  private func demand(_ isTrue: Bool, _ text: String) throws(ControlRefusal) {
    if !isTrue { throw .conflict("\(text); the life is \(state.rawValue)") }
  }

  private mutating func expire(
    _ reason: LifeExpiry, isAtEnd: Bool, at now: Int64, _ numbers: inout LifeNumbers
  ) throws(ControlRefusal) -> Effect {
    try demand(isSubscription && hasCourse, "only a running subscription expires")
    guard isAtEnd else { return Effect(notice: expire(reason, at: now, &numbers)) }
    if reason == .voluntary { willRenew = false } else { atEnd = .expires(reason) }
    noteChange()
    return Effect()
  }

  private mutating func upgrade(
    _ upgrade: LifeUpgrade, at now: Int64, _ numbers: inout LifeNumbers
  ) throws(ControlRefusal) -> Effect {
    try demand(isSubscription && (state == .active || state == .grace), "only a running subscription is upgraded")
    let product = terms.product(upgrade.product)
    try demand(product != latest.productId, "the life has this product already")
    let price = upgrade.price ?? LifeTerms.usualPrice(of: product)
    let length = upgrade.period ?? scale.months(LifeTerms.usualMonths(of: product))
    // Apple may have charged for the next period already: then two periods are replaced.
    for index in transactions.indices where index == transactions.count - 1 || isRunning(transactions[index], at: now) {
      transactions[index].isUpgraded = true
      transactions[index].revision = numbers.revision()
    }
    settle()
    guard upgrade.isSeparate else {
      period = length
      next = Next(productId: product, period: length, price: price)
      willRenew = true
      transactions.append(
        LifeTransaction(
          id: numbers.transaction(), productId: product, purchaseDate: now, expiresDate: now + length, price: price,
          revision: numbers.revision()))
      return Effect(notice: changed(LifeNotice("DID_CHANGE_RENEWAL_PREF", "UPGRADE", latest.id)))
    }
    var terms = terms
    (terms.productId, terms.price, terms.period) = (product, price, length)
    (terms.age, terms.offer, terms.failsAtEnd, terms.autoRenews) = (0, nil, false, true)
    let successor = Life(
      upgrade.originalTransactionId ?? numbers.transaction(), terms, scale: scale, previousId: id, now: now, &numbers)
    state = .upgraded
    willRenew = false
    expirationIntent = LifeExpiry.voluntary.intent
    successorId = successor.id
    return Effect(
      notice: changed(LifeNotice("EXPIRED", LifeExpiry.voluntary.subtype, latest.id)), successor: successor,
      successorNotice: LifeNotice("DID_CHANGE_RENEWAL_PREF", "UPGRADE", successor.id))
  }

  private func isRunning(_ transaction: LifeTransaction, at now: Int64) -> Bool {
    transaction.revocation == nil && (transaction.expiresDate ?? 0) > now
  }

  private mutating func downgrade(to product: String, period: Int64?) throws(ControlRefusal) -> Effect {
    try demand(isSubscription && hasCourse, "only a running subscription gets another product")
    let isTakenBack = product == latest.productId
    next = Next(
      productId: product,
      period: period ?? (isTakenBack ? self.period : scale.months(LifeTerms.usualMonths(of: product))),
      price: isTakenBack ? latest.price : LifeTerms.usualPrice(of: product))
    return Effect(
      notice: changed(LifeNotice("DID_CHANGE_RENEWAL_PREF", isTakenBack ? nil : "DOWNGRADE", latest.id)))
  }
}

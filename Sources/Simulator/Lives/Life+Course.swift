/// What happens by itself, when time passes.
extension Life {
  /// When something happens by itself, in UNIX milliseconds; `nil` if nothing will.
  var due: Int64? {
    switch state {
    case .active:
      guard isSubscription, let end = latest.expiresDate else { return nil }
      return willRenew && atEnd == .renews && !isConsentMissing ? end - lead : end
    case .grace: return graceUntil
    case .billingRetry: return retryUntil
    case .expired, .revoked, .upgraded: return nil
    }
  }

  /// Apple renews up to a day before the end of a period; here it is half a day, shrunk as a month is.
  private var lead: Int64 { min(scale.hours(12), period / 4) }

  /// Whether the customer has not agreed to a higher price.
  private var isConsentMissing: Bool { priceIncreaseStatus == 0 }

  /// Lets the next thing happen that is due, if any. Call it again until it returns `nil`.
  mutating func passTime(to now: Int64, _ numbers: inout LifeNumbers) -> LifeNotice? {
    guard let due, due <= now else { return nil }
    switch state {
    case .active:
      guard willRenew else { return expire(.voluntary, at: now, &numbers) }
      guard !isConsentMissing else { return expire(.priceIncrease, at: now, &numbers) }
      switch atEnd {
      case .renews: return renew(at: now, isDue: true, &numbers)
      case .fails(let grace): return fail(grace: grace, at: now, since: due, &numbers)
      case .expires(let reason): return expire(reason, at: now, &numbers)
      }
    case .grace: return endGrace(at: due, &numbers)
    case .billingRetry: return expire(.billingRetry, at: now, &numbers)
    case .expired, .revoked, .upgraded: return nil
    }
  }

  /// Adds a period.
  ///
  /// - Parameter isDue: whether the time for it has come, so that the new period begins where the old one ends.
  mutating func renew(at now: Int64, isDue: Bool, _ numbers: inout LifeNumbers) -> LifeNotice {
    let from = state
    let end = latest.expiresDate ?? now
    period = next.period
    var start: Int64
    var expires: Int64
    switch from {
    case .active:
      // By hand, it begins at once, but not before a period that Apple has charged already.
      start = isDue ? end : min(end, max(now, latest.purchaseDate))
      expires = end + period
    case .grace:
      // The billing date stays when the charge succeeds in time.
      start = end
      expires = end + period
      if expires <= now { (start, expires) = (now, now + period) }
    case .billingRetry, .expired, .revoked, .upgraded:
      start = now
      expires = now + period
    }
    let isNewRun = from == .expired || from == .revoked
    if let offer = next.offer, let length = scale.period(offer.period) { expires = start + length }
    transactions.append(
      LifeTransaction(
        id: numbers.transaction(), productId: next.productId, purchaseDate: start, expiresDate: expires,
        price: next.offer?.isFree == true ? 0 : next.price, isRenewal: !isNewRun, offer: next.offer,
        revision: numbers.revision()))
    next.offer = nil
    settle()
    if isNewRun {
      runBegan = now
      willRenew = true
      return changed(LifeNotice("SUBSCRIBED", "RESUBSCRIBE", latest.id))
    }
    return changed(LifeNotice("DID_RENEW", from == .active ? nil : "BILLING_RECOVERY", latest.id))
  }

  /// Notes that Apple cannot charge, from a time on.
  mutating func fail(
    grace: Bool?, at now: Int64, since end: Int64, _ numbers: inout LifeNumbers
  ) -> LifeNotice {
    endPeriod(at: end, &numbers)
    settle()
    if grace ?? (terms.grace > 0) {
      state = .grace
      graceUntil = end + (terms.grace > 0 ? terms.grace : scale.days(16))
      return changed(LifeNotice("DID_FAIL_TO_RENEW", "GRACE_PERIOD", latest.id))
    }
    state = .billingRetry
    retryUntil = end + scale.days(60)
    expirationIntent = LifeExpiry.billingRetry.intent
    return changed(LifeNotice("DID_FAIL_TO_RENEW", nil, latest.id))
  }

  mutating func endGrace(at end: Int64, _ numbers: inout LifeNumbers) -> LifeNotice {
    state = .billingRetry
    graceUntil = nil
    // The sixty days count from the end of the period.
    retryUntil = max(end, (latest.expiresDate ?? end) + scale.days(60))
    expirationIntent = LifeExpiry.billingRetry.intent
    return changed(LifeNotice("GRACE_PERIOD_EXPIRED", nil, latest.id))
  }

  mutating func expire(_ reason: LifeExpiry, at now: Int64, _ numbers: inout LifeNumbers) -> LifeNotice {
    endPeriod(at: now, &numbers)
    settle()
    state = .expired
    willRenew = false
    expirationIntent = reason.intent
    return changed(LifeNotice("EXPIRED", reason.subtype, latest.id))
  }

  /// Shortens the running period, if it is longer. Apple never does so; a test need not wait for the end.
  private mutating func endPeriod(at end: Int64, _ numbers: inout LifeNumbers) {
    // Apple may have charged for the next period already: then both end.
    for index in transactions.indices {
      guard let expires = transactions[index].expiresDate, expires > end else { continue }
      transactions[index].expiresDate = end
      transactions[index].revision = numbers.revision()
    }
  }

  /// Clears everything about earlier troubles.
  mutating func settle() {
    state = .active
    atEnd = .renews
    graceUntil = nil
    retryUntil = nil
    expirationIntent = nil
    priceIncreaseStatus = nil
  }

  /// Notes a change that a notice tells.
  mutating func changed(_ notice: LifeNotice) -> LifeNotice {
    noteChange()
    return notice
  }
}

import Formats

/// When a purchase must be looked at again although nobody asks.
///
/// Apple's notifications usually come first, and then the look is not needed. So a timer stands where something ends:
/// the period, the grace period, a pass, a provisional access. Where nothing ends, a look a month finds a refund whose
/// notification got lost.
public struct PurchaseTimer: Sendable {
  /// The publisher's offers; they end a pass.
  public let offers: OfferCatalog
  /// The publisher's open doors; their contracts may promise a look.
  public let doors: OpenDoors

  /// Creates the timer of a publisher's purchases.
  public init(offers: OfferCatalog, doors: OpenDoors = OpenDoors()) {
    self.offers = offers
    self.doors = doors
  }

  /// How long a purchase without an end waits for the next look.
  public static let month = 30 * Int64.millisecondsOfDay
  /// Apple tries for so long to charge for a renewal (Apple: "Reducing involuntary subscriber churn").
  public static let billingRetry = 60 * Int64.millisecondsOfDay
  /// The shortest time between two looks at a purchase.
  public static let pause: Int64 = 5_000
  /// After this time Apple is asked again about evidence that gives back what other evidence took.
  public static let doubt: Int64 = 300_000

  /// After this time a new purchase is looked at whose predecessor has no owner. Two commits at the same time do not
  /// see each other: the one with the predecessor's owner, and the one with the upgrade.
  public static let handOn: Int64 = 60_000

  /// Returns when to look next, in milliseconds since 1970; `nil` if no look can find anything new.
  ///
  /// - Parameter now: the time of this look, in milliseconds since 1970.
  public func next(after now: Int64, _ purchase: Purchase) -> Int64? {
    let own = [end(of: purchase, after: now), purchase.provisionalUntil.flatMap { $0 > now ? $0 : nil }]
    let looks = own + doors.all.map { $0.nextLook(after: now, at: purchase) }
    return looks.compactMap(\.self).min().map { spread($0, after: now, purchase.key) }
  }

  private func end(of purchase: Purchase, after now: Int64) -> Int64? {
    let deciding = purchase.deciding
    let isRevoked = deciding.revocationDate != nil || purchase.isReportedRevoked
    // Where a refund lets the access last, it ends as if nothing had happened.
    guard !isRevoked || purchase.isKeptAfterRefund(offers) else {
      return deciding.expiresDate.flatMap { $0 > now ? $0 : nil }
    }
    switch deciding.kind {
    case .autoRenewable: return endOfSubscription(purchase, after: now)
    case .consumable: return nil
    case .nonConsumable: return aMonth(after: now, purchase.key)
    case .nonRenewing:
      guard let end = offers.offer(forProduct: deciding.productId)?.endOfPass(bought: deciding.purchaseDate) else {
        return aMonth(after: now, purchase.key)
      }
      return end > now ? min(end, aMonth(after: now, purchase.key)) : nil
    }
  }

  private func endOfSubscription(_ purchase: Purchase, after now: Int64) -> Int64? {
    let deciding = purchase.deciding
    let (end, renewal) = (deciding.expiresDate ?? deciding.purchaseDate, purchase.presentRenewal)
    // Apple has not told the transaction yet that took the place of this one.
    if deciding.isUpgraded, now < end { return again(since: deciding.purchaseDate, after: now) }
    if now < end { return end }
    if let grace = renewal?.graceExpiresDate, now < grace { return grace }
    guard now < end.adding(Self.billingRetry) else { return nil }
    if renewal?.isInBillingRetry == true { return now.adding(.millisecondsOfDay) }
    // Apple renews a little late at times, and the renewal's notification may be lost.
    // What Apple signed before the end may have changed since.
    let hasEnded =
      renewal.map { $0.signedDate >= end && ($0.willRenew == false || $0.expirationIntent != nil) } ?? false
    return hasEnded ? nil : again(since: end, after: now)
  }

  /// When Apple is asked again that could not be asked, in milliseconds since 1970: the longer the purchase waits, the
  /// later, and at least once an hour.
  public static func retry(after now: Int64, _ purchase: Purchase) -> Int64 {
    let end = purchase.endOfSubscription.flatMap { $0 <= now ? $0 : nil }
    return now.adding(min(half(since: end ?? purchase.updatedAt ?? now, now), 3_600_000))
  }

  /// When Apple is asked about a doubt, in milliseconds since 1970: not twice in a minute, and the later, the longer
  /// Apple has not answered.
  public static func recheckTime(_ due: Int64, after now: Int64) -> Int64 {
    max(due, now.adding(max(60_000, min(half(since: due, now), .millisecondsOfDay))))
  }

  /// A look in half the time that has passed: soon at first, and once a day in the end.
  private func again(since then: Int64, after now: Int64) -> Int64 {
    now.adding(min(Self.half(since: then, now), .millisecondsOfDay))
  }

  private static func half(since then: Int64, _ now: Int64) -> Int64 {
    max(max(0, now.adding(-max(0, then))) / 2, 30_000)
  }

  /// Whether a look needs Apple: the end of a pass is the publisher's.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func needsApple(_ kind: ProductKind, _ productId: ProductId, purchaseDate: Int64, now: Int64) -> Bool {
    guard kind == .nonRenewing, let end = offers.offer(forProduct: productId)?.endOfPass(bought: purchaseDate) else {
      return true
    }
    return now < end
  }

  /// A month later, or up to three days before that: purchases of one day are looked at on several days.
  private func aMonth(after now: Int64, _ key: PurchaseKey) -> Int64 {
    now.adding(Self.month - share(of: Self.month / 10, key))
  }

  /// Delays a look by a part of its wait, so that purchases with one end are not all looked at in one second: by a
  /// hundredth of the wait at most, and by a minute at most.
  private func spread(_ look: Int64, after now: Int64, _ key: PurchaseKey) -> Int64 {
    look.adding(share(of: min(max(0, look.adding(-now)) / 100, 60_000), key))
  }

  private func share(of time: Int64, _ key: PurchaseKey) -> Int64 {
    Spread.share(of: time, for: [key.environment.text, key.originalTransactionId.text, String(key.publisherId)])
  }
}

extension Publisher {
  /// The timer of the publisher's purchases.
  public var timer: PurchaseTimer { PurchaseTimer(offers: offers, doors: doors) }
}

/// One purchase that goes through renewals, refunds and whatever else happens, as a value.
///
/// Its functions get the time and change nothing else. ``Lives`` holds the lives and lets time pass for them.
struct Life: Equatable, Sendable {
  /// What happens at the end of the running period, if the renewal is on.
  enum End: Equatable, Sendable {
    case renews
    case fails(grace: Bool?)
    case expires(LifeExpiry)
  }

  /// The original transaction id.
  let id: String
  let terms: LifeTerms
  let scale: LifeScale
  /// The life whose place this one has taken.
  let previousId: String?

  var state = LifeState.active
  /// At least one, oldest first.
  var transactions: [LifeTransaction]
  var period: Int64
  /// The product of the next period, its period and its price.
  var next: Next
  var willRenew: Bool
  var atEnd: End
  /// When the grace period ends, in UNIX milliseconds; only in grace.
  var graceUntil: Int64?
  /// When Apple gives up charging; only in billing retry.
  var retryUntil: Int64?
  /// Apple's number for why the subscription ended.
  var expirationIntent: Int?
  /// Apple's `priceIncreaseStatus`: 0 not answered, 1 agreed.
  var priceIncreaseStatus: Int?
  /// When the present run of periods began.
  var runBegan: Int64
  /// The life that has taken the place of this one.
  var successorId: String?
  var refundRequests: [LifeRefundRequest] = []

  /// The date of the newest signature.
  private(set) var lastSigned: Int64 = 0
  private var earliestSignature: Int64 = 0

  /// What the next period will be.
  struct Next: Equatable, Sendable {
    var productId: String
    var period: Int64
    var price: Int64
    var offer: LifeOffer?
  }

  /// Begins a life.
  ///
  /// - Parameter now: UNIX milliseconds.
  init(
    _ id: String, _ terms: LifeTerms, scale: LifeScale, previousId: String? = nil, now: Int64,
    _ numbers: inout LifeNumbers
  ) {
    self.id = id
    self.terms = terms
    self.scale = scale
    self.previousId = previousId
    let start = now - terms.age
    var first = LifeTransaction(
      id: id, productId: terms.productId, purchaseDate: start, price: terms.price, offer: terms.offer,
      revision: numbers.revision())
    if terms.offer?.isFree == true { first.price = 0 }
    if terms.kind == .autoRenewable {
      first.expiresDate = start + (terms.offer.flatMap { scale.period($0.period) } ?? terms.period)
    }
    transactions = [first]
    period = terms.period
    next = Next(productId: terms.productId, period: terms.period, price: terms.price)
    willRenew = terms.kind == .autoRenewable && terms.autoRenews
    atEnd = terms.failsAtEnd ? .fails(grace: nil) : .renews
    runBegan = start
  }

  var latest: LifeTransaction { transactions[transactions.count - 1] }
  var isSubscription: Bool { terms.kind == .autoRenewable }

  /// What Apple tells when the life begins.
  var beginning: LifeNotice {
    isSubscription ? LifeNotice("SUBSCRIBED", "INITIAL_BUY", id) : LifeNotice("ONE_TIME_CHARGE", nil, id)
  }

  /// Whether the purchase gives access, and when that ends; `nil` without access, and without an end.
  func access(at now: Int64) -> (isGiven: Bool, until: Int64?) {
    switch state {
    case .active:
      guard isSubscription else { return (true, nil) }
      let end = latest.expiresDate ?? now
      return end > now ? (true, end) : (false, nil)
    case .grace:
      let end = graceUntil ?? now
      return end > now ? (true, end) : (false, nil)
    case .billingRetry, .expired, .revoked, .upgraded: return (false, nil)
    }
  }

  /// Returns the date of a signature that is made now. Data that changed has a later date than all earlier data, even
  /// within one millisecond: a reader keeps the newer.
  mutating func signingDate(at now: Int64) -> Int64 {
    lastSigned = max(now, earliestSignature, lastSigned)
    return lastSigned
  }

  /// Makes every signature from now on newer than the earlier ones.
  mutating func noteChange() { earliestSignature = lastSigned + 1 }
}

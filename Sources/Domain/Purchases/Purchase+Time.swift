import Formats

extension Purchase {
  /// How much earlier than the period Apple may renew a subscription. A renewal info from then is about the period.
  static let earlyRenewal = Int64.millisecondsOfDay
  /// How far apart the parts of one answer may be signed.
  static let spreadOfAnswer: Int64 = 5_000

  /// The renewal info, if it is about the deciding transaction or a later one; `nil` if Apple signed it for an earlier
  /// period.
  ///
  /// Apple may renew up to 24 hours before a period begins, so a renewal info from these hours is present, too.
  public var presentRenewal: RenewalFacts? {
    guard let renewal, renewal.signedDate.adding(Self.earlyRenewal) >= deciding.purchaseDate else { return nil }
    return renewal
  }

  /// Whether Apple's status says that the purchase is revoked, and no signed data says otherwise since.
  ///
  /// The status has the date of the renewal info beside it. If Apple signed the deciding transaction later, the
  /// transaction itself tells whether it is revoked: Apple has written the revocation into it by then, or has reversed
  /// it, or the customer has bought again. The parts of one answer have slightly different dates, so the transaction
  /// must be some seconds newer than the status.
  public var isReportedRevoked: Bool {
    guard let status, status.code == ReportedStatus.revoked else { return false }
    return deciding.signedDate <= status.date.adding(Self.spreadOfAnswer)
  }

  /// Whether the customer had access while Apple was away, and that access has ended without a word of Apple's.
  package func isUnconfirmed(at now: Int64) -> Bool { provisionalUntil.map { $0 <= now } ?? false }

  /// The end of a subscription: of the period, or of the grace period behind it; `nil` for other products. Apple makes
  /// no subscription without an end, so one without has ended at all times.
  public var endOfSubscription: Int64? {
    guard deciding.kind == .autoRenewable else { return nil }
    return max(deciding.expiresDate ?? .min, presentRenewal?.graceExpiresDate ?? .min)
  }

  /// Whether a subscription that was not over at one time, in milliseconds since 1970, is over at a later one.
  public func hasEnded(since then: Int64, now: Int64) -> Bool {
    guard let end = endOfSubscription else { return false }
    return end <= now && end > then
  }
}

import Domain
import Formats

/// When a subscription is looked at again although nobody asks, after Mbaasy's rule.
///
/// It is always looked at after the end of each period, and every 24 hours while Apple tries to charge, with or without
/// a billing grace period. Notifications do not tell every change, so three optional levels look more often.
enum MbaasyRecheck {
  private static let day = Int64.millisecondsOfDay

  /// Returns when to look next, in milliseconds since 1970; it may be over. `nil` if no look can find anything new:
  /// the purchase is no subscription, is taken back, or has ended for good.
  ///
  /// - Parameters:
  ///   - last: when it was looked at last.
  ///   - levels: the optional levels that the publisher has chosen.
  static func next(after last: Int64, _ purchase: Purchase, levels: MbaasyDoor.RecheckLevels) -> Int64? {
    let deciding = purchase.deciding
    guard deciding.kind == .autoRenewable, deciding.revocationDate == nil, !purchase.isReportedRevoked else {
      return nil
    }
    let end = deciding.expiresDate ?? deciding.purchaseDate
    guard last < end else {
      return purchase.presentRenewal?.isInBillingRetry == true ? last.adding(day) : nil
    }
    var looks = [end]
    if levels.contains(.every28Days) { looks.append(last.adding(28 * day)) }
    // A level with a window begins with it: a look from before the window may be too old by then.
    if levels.contains(.every7Days) { looks.append(max(last.adding(7 * day), end.adding(-28 * day))) }
    if levels.contains(.every24Hours) { looks.append(max(last.adding(day), end.adding(-7 * day))) }
    return looks.min()
  }
}

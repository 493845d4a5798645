import Domain

/// Why a purchase was canceled, does not renew or has expired, in iaptic's words. docs/compatibility/iaptic.md shows
/// the table.
enum IapticCancelationReason: String, Sendable, CaseIterable {
  /// It was not canceled.
  case none = ""
  case developer = "Developer"
  case system = "System"
  case systemReplaced = "System.Replaced"
  case systemProductUnavailable = "System.ProductUnavailable"
  case systemBillingError = "System.BillingError"
  case systemDeleted = "System.Deleted"
  case customer = "Customer"
  case customerTechnicalIssues = "Customer.TechnicalIssues"
  case customerPriceIncrease = "Customer.PriceIncrease"
  case customerCost = "Customer.Cost"
  case customerFoundBetterApp = "Customer.FoundBetterApp"
  case customerNotUsefulEnough = "Customer.NotUsefulEnough"
  case customerOtherReason = "Customer.OtherReason"
  case unknown = "Unknown"

  /// Derives the reason from the deciding transaction and the renewal info. The first line that fits counts.
  ///
  /// Apple does not tell the reasons of a customer's survey, so some of iaptic's words never come.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func of(_ purchase: Purchase, now: Int64) -> Self {
    let deciding = purchase.deciding
    if deciding.revocationDate != nil { return ofRevoked(deciding) }
    if purchase.isReportedRevoked { return .unknown }
    if deciding.isUpgraded { return .systemReplaced }
    guard deciding.kind == .autoRenewable else { return .none }
    let renewal = purchase.presentRenewal
    // While a paid period runs, the reason why an earlier one ended is out of date.
    if now < deciding.expiresDate ?? .min { return renewal?.willRenew == false ? .customer : .none }
    switch renewal?.expirationIntent {
    case 1: return .customer
    case 2: return .systemBillingError
    case 3: return .customerPriceIncrease
    case 4: return .systemProductUnavailable
    case .some: return .unknown
    case nil: break
    }
    if renewal?.isInBillingRetry == true { return .systemBillingError }
    return renewal?.willRenew == false ? .customer : .unknown
  }

  /// The reason of a transaction that Apple took back.
  static func ofRevoked(_ facts: TransactionFacts) -> Self {
    // The member of the family did nothing: the purchase is no longer shared.
    if facts.isShared { return .system }
    switch facts.revocationReason {
    case 0: return .customerOtherReason
    case 1: return .customerTechnicalIssues
    default: return .customer
    }
  }
}

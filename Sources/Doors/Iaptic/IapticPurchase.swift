import Domain

/// A purchase as iaptic shows it: the last transaction of one product.
///
/// An Apple purchase may have several products, one after the other. Then the deciding product has what the renewal
/// info says, and the others are replaced.
struct IapticPurchase: Sendable, Equatable {
  /// Apple's product id.
  var productId: ProductId
  /// Apple's `originalTransactionId`.
  var purchaseId: OriginalTransactionId
  /// The last transaction of the product.
  var transactionId: TransactionId
  /// Whether the purchase is from Apple's sandbox.
  var isSandbox: Bool
  /// When the customer bought first, in milliseconds since 1970, as all dates here are.
  var purchaseDate: Int64
  /// When the subscription renewed last; `nil` if it never did.
  var lastRenewalDate: Int64?
  /// When the access ends, or has ended: with the period, its grace period, the pass or a refund.
  var expirationDate: Int64?
  /// Whether it gives the customer nothing: its term is over, or the publisher does not allow the sandbox it is from.
  var isExpired = false
  var renewalIntent: RenewalIntent?
  /// When the customer changed the intent, if this is known.
  var renewalIntentChangeDate: Int64?
  var cancelationReason = IapticCancelationReason.none
  var isBillingRetryPeriod = false
  var isTrialPeriod = false
  var isIntroPeriod = false
  /// The offer that the customer redeemed.
  var discountId: String?
  var priceConsentStatus: PriceConsentStatus?
  var quantity: Int32?
  /// In millionths of the currency.
  var amountMicros: Int64?
  var currency: CurrencyCode?
  /// Whether a member of the family bought it.
  var isShared = false
  /// The publisher's customers who may use it: its owner.
  var entitledUsers: [String] = []

  /// Whether a subscription renews at the end of its period.
  enum RenewalIntent: String, Sendable {
    case renew = "Renew"
    case lapse = "Lapse"
  }

  /// The customer's answer to a raised price.
  enum PriceConsentStatus: String, Sendable {
    case notified = "Notified"
    case agreed = "Agreed"
  }

  /// The time by which purchases of one product are compared.
  var lastDate: Int64 { lastRenewalDate ?? purchaseDate }

  /// What every transaction of a purchase tells, as its product's last one.
  private init(_ facts: TransactionFacts, of purchase: Purchase) {
    let began = facts.originalPurchaseDate ?? purchase.transactions.values.map(\.purchaseDate).min()
    productId = facts.productId
    purchaseId = purchase.key.originalTransactionId
    transactionId = facts.transactionId
    isSandbox = purchase.key.environment != .production
    purchaseDate = began ?? facts.purchaseDate
    let first = purchase.transactions[purchaseId.firstTransaction]
    let isFirst = facts.transactionId == purchaseId.firstTransaction || first.map(facts.isCopy) ?? false
    let hasRenewed = facts.kind == .autoRenewable && !isFirst && facts.purchaseDate > purchaseDate
    lastRenewalDate = hasRenewed ? facts.purchaseDate : nil
    isTrialPeriod = facts.isTrial
    isIntroPeriod = facts.offerType == 1 && !isTrialPeriod
    discountId = facts.offerIdentifier
    quantity = facts.quantity
    amountMicros = facts.price.flatMap { price in
      let (micros, overflows) = price.multipliedReportingOverflow(by: 1000)
      return overflows ? nil : micros
    }
    currency = facts.currency
    isShared = facts.isShared
  }

  /// Shows a purchase: the deciding product first, then those before it.
  ///
  /// Nothing is shown of a purchase that Apple did not confirm.
  ///
  /// - Parameters:
  ///   - rules: those for the purchase's owner.
  ///   - now: milliseconds since 1970.
  static func of(_ purchase: Purchase, rules: AccessRules, now: Int64) -> [IapticPurchase] {
    guard !purchase.isUnconfirmed(at: now) else { return [] }
    let deciding = purchase.deciding
    var last: [ProductId: TransactionFacts] = [:]
    for facts in purchase.transactions.values where facts.productId != deciding.productId {
      let known = last[facts.productId]
      if known.map({ ($0.purchaseDate, $0.transactionId) < (facts.purchaseDate, facts.transactionId) })
        ?? true
      {
        last[facts.productId] = facts
      }
    }
    let replaced = last.sorted { $0.key < $1.key }.map { Self(replaced: $0.value, of: purchase) }
    return [Self(deciding: purchase, rules: rules, now: now)] + replaced
  }

  private init(deciding purchase: Purchase, rules: AccessRules, now: Int64) {
    let (facts, renewal) = (purchase.deciding, purchase.presentRenewal)
    self.init(facts, of: purchase)
    // The contract speaks of products, so a product needs no offer here.
    let term = PurchaseTerm.of(purchase, offers: rules.offers, now: now)
    expirationDate = term.end
    let access = Access.of(purchase, rules: rules, now: now)
    isExpired = access.rule == .offerUnknown ? !term.isRunning : !access.isGranted
    cancelationReason = .of(purchase, now: now)
    guard facts.kind == .autoRenewable, let renewal else { return }
    renewalIntent = renewal.willRenew.map { $0 ? .renew : .lapse }
    // Apple's last word about the retry may be older than the period that the customer has paid since.
    isBillingRetryPeriod = renewal.isInBillingRetry == true && now >= facts.expiresDate ?? .min
    switch renewal.priceIncreaseStatus {
    case 0: priceConsentStatus = .notified
    case 1: priceConsentStatus = .agreed
    default: break
    }
  }

  /// The last transaction of a product that another product of the purchase took the place of.
  private init(replaced facts: TransactionFacts, of purchase: Purchase) {
    self.init(facts, of: purchase)
    isExpired = true
    if let date = facts.revocationDate {
      (expirationDate, cancelationReason) = (date, .ofRevoked(facts))
    } else {
      // A period that an upgrade cut short ended when the next product began.
      let next = purchase.deciding.purchaseDate
      expirationDate = facts.expiresDate.map { facts.purchaseDate < next ? min($0, next) : $0 }
      cancelationReason = .systemReplaced
    }
  }
}

import Formats

/// Everything that Apple knows about one simulated purchase.
///
/// Dates count from the start of the current UTC day. So they stay the same from call to call, and no period ends
/// while a test runs.
struct StorePurchase: Equatable, Sendable {
  /// The transaction that the client asked for.
  var asked: TransactionPayload
  /// The transactions of the purchase, oldest first.
  var history: [TransactionPayload]
  /// The state of the subscription; `nil` for any other purchase.
  var subscription: Subscription?
  /// The customer's other subscriptions.
  var related: [Subscription] = []
  /// Where the history stands, if it has pages.
  var page: Page?

  /// The place of a page of the history.
  struct Page: Equatable, Sendable {
    var revision: String
    var hasMore: Bool
  }

  /// The latest transaction of a subscription and its renewal info.
  struct Subscription: Equatable, Sendable {
    var status: SubscriptionStatus
    var latest: TransactionPayload
    var renewal: RenewalPayload
  }

  /// Apple's numbers.
  enum SubscriptionStatus: Int, Sendable {
    case active = 1
    case expired = 2
    case billingRetry = 3
    case gracePeriod = 4
    case revoked = 5
  }

  /// Makes up the purchase that a question is about.
  init(_ question: StoreQuestion) {
    switch question.scenario {
    case .nonConsumable:
      self.init(Self.transaction(question, product: "lifetime", type: "Non-Consumable", price: 49_990))
    case .consumable:
      self.init(Self.transaction(question, product: "coins", type: "Consumable", price: 1_990))
    case .nonRenewing:
      self.init(Self.transaction(question, product: "pass", type: "Non-Renewing Subscription", price: 19_990))
    case .upgraded: self = Self.upgraded(question)
    default: self = Self.subscribed(question)
    }
  }

  private init(_ only: TransactionPayload) {
    asked = only
    history = [only]
  }

  /// Creates a purchase.
  init(asked: TransactionPayload, history: [TransactionPayload], subscription: Subscription?) {
    self.asked = asked
    self.history = history
    self.subscription = subscription
  }

  /// Refunds the subscription in full.
  mutating func refund(now: Int64) {
    guard var subscription else { return }
    subscription.latest.refund(at: now)
    subscription.status = .revoked
    subscription.renewal = Self.renewal(of: subscription.latest, willRenew: false)
    take(subscription)
  }

  /// Moves the end of the subscription's period.
  mutating func renew(days: Int64) {
    guard var subscription else { return }
    subscription.latest.expiresDate = subscription.latest.expiresDate.map { $0 + days * millisecondsPerDay }
    subscription.renewal.renewalDate = subscription.latest.expiresDate
    take(subscription)
  }

  private mutating func take(_ new: Subscription) {
    if asked.transactionId == new.latest.transactionId { asked = new.latest }
    history[history.count - 1] = new.latest
    subscription = new
  }

  private static func subscribed(_ question: StoreQuestion) -> StorePurchase {
    var status = SubscriptionStatus.active
    var latest = monthly(question, expiresInDays: 20)
    var renewal = Self.renewal(of: latest)
    switch question.scenario {
    case .expired:
      status = .expired
      latest = monthly(question, expiresInDays: -10)
      renewal = Self.renewal(of: latest, willRenew: false)
      renewal.expirationIntent = 1
    case .refunded:
      status = .revoked
      latest.refund(at: question.day(-1))
      renewal = Self.renewal(of: latest, willRenew: false)
    case .gracePeriod:
      status = .gracePeriod
      latest = monthly(question, expiresInDays: -2)
      renewal = Self.renewal(of: latest)
      renewal.isInBillingRetryPeriod = true
      renewal.gracePeriodExpiresDate = question.day(14)
      renewal.renewalDate = question.day(14)
    case .billingRetry:
      status = .billingRetry
      latest = monthly(question, expiresInDays: -20)
      renewal = Self.renewal(of: latest)
      renewal.isInBillingRetryPeriod = true
      renewal.expirationIntent = 2
    case .familyShared: latest.inAppOwnershipType = "FAMILY_SHARED"
    default: break
    }
    let subscription = Subscription(status: status, latest: latest, renewal: renewal)
    return StorePurchase(asked: latest, history: [latest], subscription: subscription)
  }

  private static func upgraded(_ question: StoreQuestion) -> StorePurchase {
    let prefix = Scenario.upgraded.prefix
    let isLatest = question.transactionId.hasPrefix(prefix + "9") && question.transactionId.count > 4
    let digits = question.transactionId.dropFirst(isLatest ? 4 : 3)

    var first = monthly(question, expiresInDays: 20)
    first.transactionId = prefix + digits
    first.originalTransactionId = prefix + digits
    first.webOrderLineItemId = lineItem(first.transactionId)
    first.appTransactionId = appTransaction(first.originalTransactionId)
    first.isUpgraded = true

    var latest = first
    latest.transactionId = prefix + "9" + digits
    latest.webOrderLineItemId = lineItem(latest.transactionId)
    latest.productId = "\(question.app.bundleId).yearly"
    latest.purchaseDate = question.day(-5)
    latest.expiresDate = question.day(360)
    latest.price = 99_990
    latest.isUpgraded = nil

    let subscription = Subscription(status: .active, latest: latest, renewal: renewal(of: latest))
    return StorePurchase(asked: isLatest ? latest : first, history: [first, latest], subscription: subscription)
  }

  private static func monthly(_ question: StoreQuestion, expiresInDays days: Int64) -> TransactionPayload {
    var payload = transaction(question, product: "monthly", type: "Auto-Renewable Subscription", price: 9_990)
    payload.webOrderLineItemId = lineItem(payload.transactionId)
    payload.subscriptionGroupIdentifier = "20950511"
    payload.purchaseDate = question.day(days - 30)
    payload.originalPurchaseDate = payload.purchaseDate
    payload.expiresDate = question.day(days)
    return payload
  }

  private static func transaction(
    _ question: StoreQuestion, product: String, type: String, price: Int64
  ) -> TransactionPayload {
    let hasWrongBundle = question.scenario == .wrongBundle
    return TransactionPayload(
      transactionId: question.transactionId, originalTransactionId: question.transactionId,
      bundleId: hasWrongBundle ? ExactText("\(question.app.bundleId).other") : question.app.bundleId,
      productId: "\(question.app.bundleId).\(product)", purchaseDate: question.day(-10),
      originalPurchaseDate: question.day(-10), type: type, signedDate: question.now,
      environment: question.payloadEnvironment.name, price: price,
      appTransactionId: appTransaction(question.transactionId))
  }

  private static func renewal(of latest: TransactionPayload, willRenew: Bool = true) -> RenewalPayload {
    RenewalPayload(
      originalTransactionId: latest.originalTransactionId, productId: latest.productId,
      autoRenewProductId: latest.productId, autoRenewStatus: willRenew ? 1 : 0, signedDate: latest.signedDate,
      environment: latest.environment, recentSubscriptionStartDate: latest.originalPurchaseDate,
      renewalDate: willRenew ? latest.expiresDate : nil, renewalPrice: willRenew ? latest.price : nil,
      appTransactionId: latest.appTransactionId)
  }

  private static func lineItem(_ transactionId: String) -> String { "2\(transactionId)" }

  private static func appTransaction(_ transactionId: String) -> String { "704\(transactionId)" }
}

extension TransactionPayload {
  fileprivate mutating func refund(at time: Int64) {
    revocationDate = time
    revocationReason = 0
    revocationType = "REFUND_FULL"
    revocationPercentage = 100_000
  }
}

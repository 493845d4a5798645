import AppStore
import Domain
import EventLoop
import Formats
import JSON
import Observability
import Store

/// The judgement of Apple's signed answers, after their verification.
extension PurchaseVerification {
  /// What Get Transaction Info's answer proves.
  enum Judgement {
    case proven(Finding)
    case doubtful(Transaction)
  }

  /// A verified transaction that does not prove access by itself.
  ///
  /// An object: its forty fields would take memory in every suspended function that passes them.
  final class Transaction {
    let payload: TransactionPayload
    let original: String

    init(_ payload: TransactionPayload, _ original: String) { (self.payload, self.original) = (payload, original) }
  }

  func judge() throws(Obstacle) -> Judgement {
    let transaction = try checked(
      dependencies.verifier.transaction(answers.transaction ?? "", expecting: place.accepted))
    guard transaction.transactionId?.exact == transactionId.exact, let original = transaction.originalTransactionId
    else {
      throw reject("Apple answered about another transaction")
    }
    guard transaction.type == .autoRenewable, !isCurrent(transaction) else {
      return .proven(try purchase(transaction))
    }
    return .doubtful(Transaction(transaction, original))
  }

  /// Whether a subscription's transaction proves access by itself.
  private func isCurrent(_ transaction: TransactionPayload) -> Bool {
    transaction.revocationDate == nil && transaction.isUpgraded != true
      && (transaction.expiresDate ?? 0) > dependencies.now()
  }

  /// The subscription whose first or latest transaction is the one in question. An answer holds all subscriptions of a
  /// customer.
  func latest() throws(Obstacle) -> Finding? {
    for entry in answers.statuses ?? [] {
      if let named = entry.originalTransactionId,
        named.exact == (original ?? transactionId).exact || named.exact == transactionId.exact
      {
        return try latest(entry, of: named)
      }
      // This only chooses the entry. Its content counts after verification.
      guard let signed = entry.signedTransactionInfo, let original = entry.originalTransactionId,
        case .object(let claimed)? = SignedDataVerifier.unverifiedPayload(of: signed),
        claimed["transactionId"] == .string(transactionId)
      else { continue }
      return try latest(entry, of: original)
    }
    return nil
  }

  /// The purchase by its latest transaction. After a renewal or an upgrade this is not the registered one.
  func latest(
    _ entry: SubscriptionStatusesResponse.LastTransaction, of original: String
  ) throws(Obstacle) -> Finding? {
    guard let signed = entry.signedTransactionInfo else { return nil }
    let latest = try checked(dependencies.verifier.transaction(signed, expecting: place.accepted))
    guard latest.originalTransactionId?.exact == original.exact else {
      throw reject("the latest transaction belongs to another purchase")
    }
    var grace: Int64?
    if let signed = entry.signedRenewalInfo {
      grace = try checked(dependencies.verifier.renewalInfo(signed, belongingTo: latest)).gracePeriodExpiresDate
    }
    return try purchase(latest, grace: grace, isReportedRevoked: entry.status == .revoked)
  }

  /// The purchase that a verified transaction describes.
  func purchase(
    _ transaction: TransactionPayload, grace: Int64? = nil, isReportedRevoked: Bool = false
  ) throws(Obstacle) -> Finding {
    guard let original = transaction.originalTransactionId, let product = transaction.productId,
      let environment = transaction.environment, let date = transaction.purchaseDate
    else { throw reject("the transaction lacks a field that decides") }
    let kind: VerifiedPurchase.Kind
    switch transaction.type {
    case .some(.autoRenewable): kind = .autoRenewable
    case .some(.nonRenewing): kind = .nonRenewing
    case .some(.nonConsumable): kind = .nonConsumable
    case .some(.consumable): kind = .consumable
    // The effect of an unknown type of product is unknown, so it gives no access.
    default: throw reject("the product's type is unknown")
    }
    let purchase = VerifiedPurchase(
      kind: kind, originalTransactionId: original, productId: product, environment: environment.rawValue,
      purchaseDate: date, expiresDate: transaction.expiresDate, gracePeriodExpiresDate: grace,
      revocationDate: transaction.revocationDate, isReportedRevoked: isReportedRevoked)
    let only = kind == .autoRenewable ? nil : AppStoreEndpoint.transactionInfo.rawValue
    return Finding(
      outcome: .verified(purchase), route: Route(place: place.call.name, endpoint: only),
      isFresh: answers.earlierStatusesAt == nil)
  }

  private func checked<Payload>(_ verdict: Verdict<Payload>) throws(Obstacle) -> Payload {
    switch verdict {
    case .accepted(let payload): return payload
    case .tryLater(let rejection):
      log.warning("verification postponed", ["cause": .text(rejection)])
      throw tryLater()
    case .rejected(let rejection):
      log.warning("verification failed", ["cause": .text(rejection)])
      dependencies.metrics.rejections.count(rejection.reason.rawValue)
      let isOtherApp = rejection.reason == .bundleIdMismatch || rejection.reason == .appAppleIdMismatch
      throw .stop(.rejected(isOtherApp ? .appMismatch : .verificationFailed))
    }
  }

  /// Apple's answers do not settle the question: the next attempt asks anew.
  func tryLater() -> Obstacle {
    .stop(.failed(.tryLater), route: Route(place: place.call.name, original: original))
  }

  private func reject(_ cause: String) -> Obstacle {
    log.warning("verification failed", ["cause": .string(cause)])
    dependencies.metrics.rejections.count(WorkerMetrics.answerMismatch)
    return .stop(.rejected(.verificationFailed))
  }
}

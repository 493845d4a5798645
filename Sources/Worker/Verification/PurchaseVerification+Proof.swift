import AppStore
import Domain
import EventLoop
import Formats
import JSON
import Observability
import Store

/// What Apple's signed answers prove, once they are verified.
extension PurchaseVerification {
  /// What Get Transaction Info has proven.
  enum Judgement {
    case proven(Finding)
    case doubtful(Transaction)
  }

  /// A verified transaction that does not prove access by itself; an object, as its forty fields would be memory of every
  /// suspended function that they pass.
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

  /// The subscription whose first or latest transaction is the one in question; an answer holds all of a customer's.
  func latest() throws(Obstacle) -> Finding? {
    for entry in answers.statuses ?? [] {
      if let named = entry.originalTransactionId,
        named.exact == (original ?? transactionId).exact || named.exact == transactionId.exact
      {
        return try latest(entry, of: named)
      }
      // Only to choose the entry; what it says is believed when it is verified.
      guard let signed = entry.signedTransactionInfo, let original = entry.originalTransactionId,
        case .object(let claimed)? = SignedDataVerifier.unverifiedPayload(of: signed),
        claimed["transactionId"] == .string(transactionId)
      else { continue }
      return try latest(entry, of: original)
    }
    return nil
  }

  /// The purchase by its latest transaction: after a renewal or an upgrade not the one that was registered.
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
    // What a product of an unknown type gives, nobody can know; so it gives nothing.
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

  /// What Apple has answered does not settle it: the next attempt asks anew.
  func tryLater() -> Obstacle {
    .stop(.failed(.tryLater), route: Route(place: place.call.name, original: original))
  }

  private func reject(_ cause: String) -> Obstacle {
    log.warning("verification failed", ["cause": .string(cause)])
    dependencies.metrics.rejections.count(WorkerMetrics.answerMismatch)
    return .stop(.rejected(.verificationFailed))
  }
}

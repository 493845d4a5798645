import AppStore
import Coordination
import Domain
import EventLoop
import Formats
import JSON
import Observability

/// The judgement of Apple's signed answers, after their verification.
extension PurchaseVerification {
  /// What Get Transaction Info's answer proves.
  enum Judgement {
    case proven(Attempt)
    case doubtful(Transaction)
  }

  /// A verified transaction that does not prove access by itself.
  ///
  /// An object: its forty fields would take memory in every suspended function that passes them.
  final class Transaction {
    let signed: Verified<TransactionPayload>
    let original: OriginalTransactionId

    init(_ signed: Verified<TransactionPayload>, _ original: OriginalTransactionId) {
      (self.signed, self.original) = (signed, original)
    }
  }

  func judge() throws(Obstacle) -> Judgement {
    let signed = try checked(
      dependencies.verifier.signedTransaction(answers.transaction ?? "", expecting: place.accepted))
    let transaction = signed.payload
    guard transaction.transactionId == transactionId, let original = transaction.originalTransactionId
    else {
      throw reject("Apple answered about another transaction")
    }
    guard transaction.type == .autoRenewable, !isCurrent(transaction) else {
      return .proven(try purchase([try evidence(signed)]))
    }
    return .doubtful(Transaction(signed, original))
  }

  /// Whether a subscription's transaction proves access by itself.
  private func isCurrent(_ transaction: TransactionPayload) -> Bool {
    transaction.revocationDate == nil && transaction.isUpgraded != true
      && (transaction.expiresDate ?? 0) > dependencies.now()
  }

  /// The subscription whose first or latest transaction is the one in question. An answer holds all subscriptions of a
  /// customer.
  func latest() throws(Obstacle) -> Attempt? {
    for entry in answers.statuses ?? [] {
      if let named = entry.originalTransactionId,
        named == original || named.firstTransaction == transactionId
      {
        return try latest(entry, of: named)
      }
      // This only chooses the entry. Its content counts after verification.
      guard let signed = entry.signedTransactionInfo, let original = entry.originalTransactionId,
        case .object(let claimed)? = SignedDataVerifier.unverifiedPayload(of: signed),
        claimed["transactionId"] == .string(transactionId.text)
      else { continue }
      return try latest(entry, of: original)
    }
    return nil
  }

  /// The purchase by its latest transaction. After a renewal or an upgrade this is not the registered one.
  ///
  /// - Parameter registered: the registered transaction, if Apple has told it too.
  func latest(
    _ entry: SubscriptionStatusesResponse.LastTransaction, of original: OriginalTransactionId,
    beside registered: Transaction? = nil
  ) throws(Obstacle) -> Attempt? {
    guard let signed = entry.signedTransactionInfo else { return nil }
    let latest = try checked(dependencies.verifier.signedTransaction(signed, expecting: place.accepted))
    guard latest.payload.originalTransactionId == original else {
      throw reject("the latest transaction belongs to another purchase")
    }
    var evidence = [try evidence(latest)]
    if let registered, registered.signed.payload.transactionId != latest.payload.transactionId {
      evidence.append(try self.evidence(registered.signed))
    }
    if let signed = entry.signedRenewalInfo {
      let renewal = try checked(dependencies.verifier.signedRenewalInfo(signed, belongingTo: latest.payload))
      do throws(EvidenceDefect) {
        evidence.append(try Evidence(renewal, status: entry.status, source: .serverAPI))
      } catch {
        throw reject(error.description)
      }
    } else if entry.status == .revoked {
      // The status is not signed, and has its date from the renewal information.
      throw tryLater()
    }
    return try purchase(evidence)
  }

  /// A transaction as evidence. The effect of an unknown type of product is unknown, so it is none.
  func evidence(_ signed: Verified<TransactionPayload>) throws(Obstacle) -> Evidence {
    do throws(EvidenceDefect) {
      return try Evidence(signed, source: .serverAPI)
    } catch {
      throw reject(error.description)
    }
  }

  /// The purchase that verified evidence describes. The first piece names it.
  func purchase(_ evidence: [Evidence]) throws(Obstacle) -> Attempt {
    guard let key = evidence.first?.key(of: publisherId), let purchase = Purchase(key, folding: evidence) else {
      throw reject("Apple's answer describes no purchase")
    }
    let only = purchase.deciding.kind == .autoRenewable ? nil : AppStoreEndpoint.transactionInfo.rawValue
    return Attempt(
      result: .verified, evidence: evidence, purchase: purchase,
      route: AppleRoute(place: place.call.name, endpoint: only), isFresh: answers.earlierStatusesAt == nil)
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
    .stop(.failed(.tryLater), route: AppleRoute(place: place.call.name, original: original))
  }

  private func reject(_ cause: String) -> Obstacle {
    log.warning("verification failed", ["cause": .string(cause)])
    dependencies.metrics.rejections.count(WorkerMetrics.answerMismatch)
    return .stop(.rejected(.verificationFailed))
  }
}

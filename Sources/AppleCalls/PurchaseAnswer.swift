import AppStore
import Domain

/// Reads successful answers about a purchase that the ledger has, by value. It checks what a worker checks before the
/// worker commits: who signed, the app, the environment, and that it is the same purchase.
struct PurchaseAnswer {
  let purchase: PurchaseKey
  /// The transaction that was asked about.
  let transactionId: TransactionId
  let app: Publisher.App
  let verifier: SignedDataVerifier

  /// What Get All Subscription Statuses has said before.
  enum Statuses {
    case notAsked
    /// It does not know the customer's transaction.
    case unknown
    /// It knows the customer, and does not name the purchase.
    case withoutPurchase
  }

  private var accepted: AcceptedApps {
    AcceptedApps([
      .init(bundleId: app.bundleId, appAppleId: app.appAppleId, environments: [purchase.environment])
    ])
  }

  /// What the customer's subscriptions say about the purchase: its latest transaction, and its renewal info. `nil` if
  /// they do not name it.
  ///
  /// - Throws: what is wrong with the answer.
  func evidence(_ statuses: SubscriptionStatusesResponse) throws(AnswerDefect) -> [Evidence]? {
    let entry = statuses.data.lazy.flatMap { $0.lastTransactions ?? [] }
      .first { $0.originalTransactionId == purchase.originalTransactionId }
    guard let entry, let signed = entry.signedTransactionInfo else { return nil }
    let latest = try payload(verifier.signedTransaction(signed, expecting: accepted))
    guard latest.payload.originalTransactionId == purchase.originalTransactionId else {
      throw AnswerDefect("the latest transaction belongs to another purchase")
    }
    var evidence = [try transaction(latest)]
    if let signed = entry.signedRenewalInfo {
      let renewal = try payload(verifier.signedRenewalInfo(signed, belongingTo: latest.payload))
      do throws(EvidenceDefect) {
        evidence.append(try Evidence(renewal, status: entry.status, source: .serverAPI))
      } catch {
        throw AnswerDefect("\(error)")
      }
    } else if entry.status == .revoked {
      // The status is not signed, and has its date from the renewal information.
      throw AnswerDefect("the status says that the purchase is revoked, without a date")
    }
    return evidence
  }

  /// What Get Transaction Info says.
  ///
  /// A subscription's transaction proves by itself only a period that runs. What came after any other one, only the
  /// subscriptions tell.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: what is wrong with the answer.
  func evidence(
    _ answer: TransactionInfoResponse, after statuses: Statuses, now: Int64
  ) throws(AnswerDefect) -> [Evidence] {
    let signed = try payload(verifier.signedTransaction(answer.signedTransactionInfo, expecting: accepted))
    let payload = signed.payload
    guard payload.transactionId == transactionId, payload.originalTransactionId == purchase.originalTransactionId
    else { throw AnswerDefect("Apple answered about another transaction") }
    if payload.type == .autoRenewable, !Self.isCurrent(payload, now) {
      guard case .withoutPurchase = statuses, payload.isUpgraded != true else {
        throw AnswerDefect("only the customer's subscriptions can show it, and they do not name the purchase")
      }
    }
    return [try transaction(signed)]
  }

  private static func isCurrent(_ transaction: TransactionPayload, _ now: Int64) -> Bool {
    transaction.revocationDate == nil && transaction.isUpgraded != true && (transaction.expiresDate ?? 0) > now
  }

  private func payload<Payload>(_ verdict: Verdict<Payload>) throws(AnswerDefect) -> Payload {
    switch verdict {
    case .accepted(let payload): return payload
    case .rejected(let rejection), .tryLater(let rejection): throw AnswerDefect("\(rejection)")
    }
  }

  private func transaction(_ signed: Verified<TransactionPayload>) throws(AnswerDefect) -> Evidence {
    do throws(EvidenceDefect) {
      return try Evidence(signed, source: .serverAPI)
    } catch {
      throw AnswerDefect("\(error)")
    }
  }
}

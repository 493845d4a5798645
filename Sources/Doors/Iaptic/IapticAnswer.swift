import AppStore
import Domain
import Formats
import Gateway
import JSON

/// The answer to `/v1/validate`, made of what the ledger knows after the wait.
struct IapticAnswer {
  let evidence: LocalEvidence
  /// What became of each purchase of the evidence.
  let results: [DoorResult]
  /// The purchases of the evidence that the ledger knows.
  let purchases: [PurchaseKey: Purchase]
  /// Further purchases of the customer that the answer lists.
  var others: [Purchase] = []
  let publisher: Publisher
  /// The customer with the door's prefix; `nil` for a caller without a user.
  let customerId: CustomerId?
  /// The customer's `appAccountToken`, if the request names it.
  let token: AppAccountToken?
  /// Milliseconds since 1970.
  let now: Int64

  /// How a purchase of the evidence is answered.
  private enum Standing {
    /// - Parameter isCurrent: whether Apple has answered now.
    case shown(Purchase, isCurrent: Bool)
    case refused(IapticError)
    /// Apple has not answered, and the ledger cannot say anything either.
    case pending
  }

  /// Writes the body.
  ///
  /// - Throws: ``IapticError`` if no purchase of the evidence can be shown.
  func body() throws(IapticError) -> [UInt8] {
    var (shown, isCurrent): ([Purchase], Bool) = ([], true)
    var (refusal, isPending): (IapticError?, Bool) = (nil, false)
    for result in results {
      switch standing(of: result) {
      case .shown(let purchase, let isNew):
        shown.append(purchase)
        isCurrent = isCurrent && isNew
      case .refused(let error): refusal = refusal ?? error
      case .pending: isPending = true
      }
    }
    // An empty collection must not mean "yes": the Swift client takes it for access. Only a receipt without purchases
    // gets one, which that client never sends.
    if shown.isEmpty, !results.isEmpty { throw isPending ? .silent : refusal ?? .unconfirmed }
    let all = shown + others
    let warning =
      !isCurrent || isPending
      ? "Apple has not answered yet. The collection shows what was known before."
      : shown.contains { $0.provisionalUntil != nil } ? "Apple has not confirmed the purchase yet." : nil
    return JSONWriter.object { answer in
      answer.member("ok", true)
      answer.member("data") { data in
        data.member("id", evidence.bundleId)
        data.member("latest_receipt", true)
        data.member("transaction", nativeTransaction)
        data.member("collection", all.flatMap { IapticPurchase.of($0, rules: rules, now: now) }) { $0.tell(to: &$1) }
        data.member("ineligible_for_intro_price", array: ineligible(all).map { JSONWriter.text($0.text) })
        data.member("warning", warning)
        data.member("date", rfc3339(milliseconds: now))
      }
    }
  }

  // MARK: The purchases

  private var rules: AccessRules {
    publisher.accessRules(for: customerId ?? CustomerId.nobody, owning: purchases.values + others)
  }

  private func standing(of entry: DoorResult) -> Standing {
    let known = purchases[entry.key]
    guard case .finalized(let result) = entry.state else {
      guard let known, refusal(of: known) == nil else { return .pending }
      return .shown(known, isCurrent: false)
    }
    if let error = IapticError.of(result.code) { return .refused(error) }
    guard let known else { return .refused(.internalError("The purchase is not known.")) }
    return refusal(of: known).map { .refused($0) } ?? .shown(known, isCurrent: true)
  }

  /// Why a purchase of the ledger is not this caller's to see; `nil` if it is.
  private func refusal(of purchase: Purchase) -> IapticError? {
    if let customerId, purchase.owner?.is(customerId) != true { return .ofAnotherUser }
    if let token, let given = purchase.deciding.appAccountToken, !given.isNil, given != token { return .otherToken }
    if !rules.allow(environment: purchase.key.environment, at: now) { return .sandboxNotAllowed }
    return IapticPurchase.of(purchase, rules: rules, now: now).isEmpty ? .unconfirmed : nil
  }

  /// The products for which Apple's customer has had an introductory offer or a trial. Apple's rule counts for a group
  /// of subscriptions. The ledger does not know the groups, but all products of a purchase are of one group.
  private func ineligible(_ purchases: [Purchase]) -> [ProductId] {
    var products: Set<ProductId> = []
    for purchase in purchases where purchase.transactions.values.contains(where: { $0.offerType == 1 }) {
      products.formUnion(purchase.transactions.values.map(\.productId))
    }
    if case .receipt(let receipt, _) = evidence.kind {
      let had = receipt.inApp.filter { $0.isTrialPeriod == true || $0.isInIntroOfferPeriod == true }
      products.formUnion(had.compactMap(\.productId))
    }
    return products.sorted()
  }

  // MARK: Parts of the answer

  /// What the client sent, as Apple wrote it.
  private func nativeTransaction(_ native: inout JSONWriter) {
    switch evidence.kind {
    case .receipt(let receipt, _):
      native.member("type", "ios-appstore")
      native.member("bundle_id", receipt.bundleId)
      native.member("application_version", receipt.applicationVersion)
      // The plugin dates the download of the app by these two. Apple writes the number as a text.
      native.member("original_application_version", receipt.originalApplicationVersion)
      native.member("original_purchase_date_ms", receipt.originalPurchaseDate.map { String($0) })
      native.member("receipt_creation_date_ms", String(receipt.receiptCreationDate))
    case .signedTransaction(let payload, _):
      native.member("type", "apple-sk2")
      native.member("bundleId", payload.bundleId)
      native.member("productId", payload.productId)
      native.member("transactionId", payload.transactionId)
      native.member("originalTransactionId", payload.originalTransactionId)
      native.member("environment", payload.environment)
    }
  }
}

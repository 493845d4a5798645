import Formats
import JSON

/// A life as the control API tells it. Tests compare a ledger with it.
extension Life {
  /// Writes the members of the life.
  ///
  /// - Parameter now: UNIX milliseconds; nothing is due any more.
  func write(to json: inout JSONWriter, now: Int64) {
    let access = access(at: now)
    json.member("originalTransactionId", id)
    json.member("state", state.rawValue)
    json.member("hasAccess", access.isGiven)
    nullable("accessUntil", access.until, &json)
    json.member("kind", terms.kind.rawValue)
    json.member("environment", terms.environment.rawValue)
    json.member("bundleId", terms.bundleId.text)
    json.member("appAppleId", terms.appAppleId)
    json.member("productId", latest.productId)
    if isSubscription {
      json.member("nextProductId", next.productId)
      json.member("willRenew", willRenew)
      json.member("graceUntil", graceUntil)
      json.member("due", due)
    }
    json.member("appAccountToken", terms.appAccountToken)
    json.member("familyShared", terms.isFamilyShared)
    json.member("owner", terms.owner)
    json.member("previousOriginalTransactionId", previousId)
    json.member("successor", successorId)
    json.member("lastSigned", lastSigned)
    json.member("revoked", array: transactions.filter { $0.revocation != nil }.map { Array("\"\($0.id)\"".utf8) })
    json.member("transactions", transactions) { transaction, json in write(transaction, to: &json) }
    json.member("refundRequests", refundRequests) { request, json in write(request, to: &json) }
  }

  private func write(_ transaction: LifeTransaction, to json: inout JSONWriter) {
    json.member("transactionId", transaction.id)
    json.member("orderId", StoreOrder.id(of: transaction.id))
    json.member("productId", transaction.productId)
    json.member("purchaseDate", transaction.purchaseDate)
    json.member("expiresDate", transaction.expiresDate)
    json.member("price", transaction.price)
    if transaction.isRenewal { json.member("isRenewal", true) }
    if transaction.isUpgraded { json.member("isUpgraded", true) }
    json.member("offerType", transaction.offer.map { Int64($0.type) })
    json.member("revocationDate", transaction.revocation?.date)
    json.member("revocationType", transaction.revocation?.type.rawValue)
    json.member("revocationPercentage", transaction.revocation?.percentage)
  }

  private func write(_ request: LifeRefundRequest, to json: inout JSONWriter) {
    json.member("transactionId", request.transactionId)
    json.member("reason", request.reason)
    json.member("requestedAt", request.requestedAt)
    json.member("answers", request.answers) { answer, json in
      json.member("time", answer.time)
      json.member("version", Int64(answer.version))
      json.member("inTime", answer.isInTime)
      json.member("body", json: answer.body.json)
    }
  }

  private func nullable(_ name: StaticString, _ number: Int64?, _ json: inout JSONWriter) {
    json.member(name, json: number.map { Array(String($0).utf8) } ?? Array("null".utf8))
  }
}

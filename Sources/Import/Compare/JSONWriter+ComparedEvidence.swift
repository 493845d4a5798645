import Domain
import JSON

extension JSONWriter {
  /// Writes what Apple signed about a purchase, as far as access depends on it: the deciding transaction, and the
  /// renewal info for grace period and billing retry. Apple's status stands beside it: it is not signed, and can only
  /// take access away.
  mutating func evidence(of purchase: Purchase) {
    let deciding = purchase.deciding
    member("environment", purchase.key.environment)
    member("decidingTransactionId", deciding.transactionId)
    member("productId", deciding.productId)
    time("expiresDate", deciding.expiresDate)
    time("revocationDate", deciding.revocationDate)
    if deciding.isUpgraded { member("isUpgraded", true) }
    time("signedDate", deciding.signedDate)
    if let renewal = purchase.presentRenewal {
      member("renewalInfo") { json in
        json.time("signedDate", renewal.signedDate)
        json.member("willRenew", renewal.willRenew)
        json.time("gracePeriodExpiresDate", renewal.graceExpiresDate)
        json.member("isInBillingRetry", renewal.isInBillingRetry)
        json.member("expirationIntent", renewal.expirationIntent.map { Int64($0) })
      }
    }
    if let status = purchase.status {
      member("reportedStatus") { json in
        json.member("code", Int64(status.code))
        json.time("date", status.date)
      }
    }
    time("provisionalUntil", purchase.provisionalUntil)
  }
}

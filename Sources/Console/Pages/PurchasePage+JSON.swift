import Domain
import Formats
import JSON
import Ledger

/// The twin of a purchase's page in JSON: all that the page shows to the same person.
extension PurchasePage {
  var json: [UInt8] {
    let (access, renewal, isPersonal) = (access, purchase.presentRenewal, view.person.role.seesPersonalData)
    return JSONWriter.object { writer in
      writer.member("accessGranted", access.isGranted)
      if isPersonal { writer.member("appAccountToken", purchase.deciding.appAccountToken) }
      writer.member("asOf", rfc3339(milliseconds: view.now))
      writer.member("billingProblem", access.billingProblem)
      writer.member("bundleId", purchase.deciding.bundleId)
      if isPersonal { writer.member("customerId", record.ownerships.last { $0.endedAt == nil }?.customerId) }
      writer.member("decidingTransactionId", purchase.deciding.transactionId)
      writer.member("environment", purchase.key.environment)
      writer.member("expiresAt", access.expiresAt.map { rfc3339(milliseconds: $0) })
      writer.member("graceExpiresAt", renewal?.graceExpiresDate.map { rfc3339(milliseconds: $0) })
      writer.member("lookedAt", timer?.lookedAt.map { rfc3339(milliseconds: $0) })
      writer.member("looksAgainAt", timer?.dueAt.map { rfc3339(milliseconds: max(0, $0)) })
      writer.member("missing", array: missing.map { JSONWriter.text($0) })
      writer.member("nextProductId", renewal?.nextProductId)
      if let notifications {
        writer.member("notifications", notifications.prefix(Self.most)) { $1.moment($0) }
        writer.member("notificationsHasMore", notifications.count > Self.most)
      }
      writer.member("originalTransactionId", purchase.key.originalTransactionId)
      writer.member("owners", record.ownerships) { period, writer in
        writer.member("because", period.cause)
        writer.member("beganAt", rfc3339(milliseconds: period.beganAt))
        if isPersonal { writer.member("customerId", period.customerId) }
        writer.member("endedAt", period.endedAt.map { rfc3339(milliseconds: $0) })
        writer.member("isErased", period.customerId == nil)
      }
      writer.member("page", view.link(to: purchase.key).address)
      writer.member("productId", purchase.deciding.productId)
      writer.publisher(purchase.key.publisherId)
      writer.member("refundRequests", requests) { $1.refundRequest($0, view) }
      writer.member("rule", access.rule.rawValue)
      if isPersonal, let evidence {
        writer.member("signedData", evidence.prefix(Self.most)) { Self.write($0, &$1) }
        writer.member("signedDataHasMore", evidence.count > Self.most)
      }
      writer.member("transactions", transactions.prefix(Self.most)) { write($0, &$1) }
      writer.member("transactionsHasMore", transactions.count > Self.most)
      writer.member("version", purchase.version)
      writer.member("willRenew", access.willRenew)
    }
  }

  /// What could not be read in time.
  private var missing: [String] {
    (notifications == nil ? ["notifications"] : [])
      + (evidence == nil && view.person.role.seesPersonalData ? ["signedData"] : [])
  }

  private func write(_ facts: TransactionFacts, _ writer: inout JSONWriter) {
    writer.member("currency", facts.currency)
    writer.member("decides", facts.transactionId == purchase.deciding.transactionId)
    writer.member("expiresDate", facts.expiresDate.map { rfc3339(milliseconds: $0) })
    writer.member("isUpgraded", facts.isUpgraded)
    writer.member("offerDiscountType", facts.offerDiscountType)
    writer.member("ownershipType", facts.ownershipType)
    writer.member("priceThousandths", facts.price)
    writer.member("productId", facts.productId)
    writer.member("purchaseDate", rfc3339(milliseconds: facts.purchaseDate))
    writer.member("revocationDate", facts.revocationDate.map { rfc3339(milliseconds: $0) })
    writer.member("signedDate", rfc3339(milliseconds: facts.signedDate))
    writer.member("transactionId", facts.transactionId)
  }

  private static func write(_ piece: ConsoleEvidence, _ writer: inout JSONWriter) {
    writer.member("from", piece.source)
    writer.member("jws", piece.jws)
    writer.member("kind", piece.kind)
    // The ledger has what Apple signed. If it were no JSON, it would break the twin.
    writer.member("payload", json: (try? JSONText(piece.payload, limits: .own)) == nil ? nil : piece.payload)
    writer.member("receivedAt", rfc3339(milliseconds: piece.receivedAt))
    writer.member("signedAt", rfc3339(milliseconds: piece.signedAt))
  }
}

import AppStore
import Crypto
import Domain
import Formats
import JSON

extension LocalEvidence {
  /// What may give access to one of the purchases while Apple is away; `nil` if nothing may.
  func piece(of purchase: LocalPurchase) -> Evidence? {
    switch kind {
    case .signedTransaction(_, let piece): piece
    case .receipt(_, let sha256): purchase.evidence(of: self, sha256)
    }
  }
}

extension LocalPurchase {
  /// The subscription's period as evidence; `nil` if this purchase of a receipt gives no access before Apple has
  /// answered.
  func evidence(of receipt: LocalEvidence, _ sha256: [UInt8]) -> Evidence? {
    let period = ReceiptPeriod(
      purchaseDate: purchaseDate, expiresDate: expiresDate, isNamedBySigner: isNamedBySigner)
    guard let period else { return nil }
    let payload = JSONWriter.object { writer in
      writer.member("bundleId", receipt.bundleId)
      writer.member("environment", key.environment)
      writer.member("expiresDate", period.end)
      writer.member("originalTransactionId", key.originalTransactionId)
      writer.member("productId", productId)
      writer.member("purchaseDate", period.start)
      writer.member("receiptSha256", Hex.encode(sha256))
      writer.member("revocationDate", cancellationDate)
      writer.member("signedDate", receipt.createdAt)
      writer.member("transactionId", transactionId)
      writer.member("type", ProductKind.autoRenewable.rawValue)
    }
    guard let json = try? JSONText(payload, limits: .own), let read = try? TransactionPayload(json),
      let facts = try? TransactionFacts(read, payloadSHA256: SHA256.hash(payload))
    else { return nil }
    return Evidence(.transaction(facts), source: .receipt, signedHeader: [], payload: payload, signature: [])
  }
}

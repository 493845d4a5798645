import AppStore
import Domain
import Gateway
import Import

/// Verifies the signed transactions and the receipts of a file on this machine, as a gateway does for its callers.
struct ImportEvidence: ImportVerifier {
  private let publisherId: PublisherId
  private let apps: AcceptedApps
  private let signedData: SignedDataVerifier
  private let receipts: ReceiptVerifier

  /// - Parameter rootFiles: the configured roots; empty for Apple's.
  init(_ publisher: Publisher, rootFiles: [String]) throws {
    let roots = rootFiles.isEmpty ? nil : try TrustedRoots(files: rootFiles)
    (publisherId, apps) = (publisher.id, publisher.acceptedApps())
    signedData = SignedDataVerifier(roots: roots ?? .apple)
    receipts = ReceiptVerifier(roots: roots ?? .appleForReceipts)
  }

  func purchases(in text: ImportSignedText) throws(ImportRefusal) -> [ImportSignedPurchase] {
    do throws(EvidenceRefusal) {
      switch text {
      case .transaction(let jws):
        let payload = try Self.accepted(signedData.transaction(jws, expecting: apps))
        let isEnough = payload.type.map { $0 != .autoRenewable } ?? false
        return try LocalEvidence(payload, publisherId: publisherId).purchases.map { Self.named($0, isEnough) }
      case .receipt(let base64):
        let receipt = try Self.accepted(receipts.receipt(base64, expecting: apps))
        let sha256 = LocalEvidence.sha256(ofReceipt: base64)
        return try LocalEvidence(receipt, sha256: sha256, publisherId: publisherId).purchases.map {
          Self.named($0, false)
        }
      }
    } catch {
      throw Self.refusal(error, of: text)
    }
  }

  private static func named(_ purchase: LocalPurchase, _ isEnough: Bool) -> ImportSignedPurchase {
    ImportSignedPurchase(
      first: purchase.key.originalTransactionId.firstTransaction, transactions: purchase.transactionIds,
      isEnough: isEnough)
  }

  private static func accepted<Payload>(_ verdict: Verdict<Payload>) throws(EvidenceRefusal) -> Payload {
    switch verdict {
    case .accepted(let payload): return payload
    case .rejected(let rejection), .tryLater(let rejection): throw .rejected(rejection, sha256: nil)
    }
  }

  private static func refusal(_ error: EvidenceRefusal, of text: ImportSignedText) -> ImportRefusal {
    let name = if case .receipt = text { "receipt" } else { "signed transaction" }
    guard case .rejected(let rejection, _) = error else {
      return ImportRefusal("the \(name) cannot be verified", "fill in the transaction's id in its place")
    }
    return ImportRefusal(
      "the \(name) is not accepted: \(rejection)",
      rejection.dependsOnFile
        ? "list the app and its environment in the publisher's file, or remove the row"
        : "copy it whole from the export, or fill in the transaction's id in its place")
  }
}

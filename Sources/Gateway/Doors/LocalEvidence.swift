package import AppStore
import Crypto
package import Domain
import Formats

/// What a door's caller brought: verified here, and not yet by Apple's answer. It proves history, not the present.
package struct LocalEvidence {
  package enum Kind {
    /// An app receipt, with the SHA-256 of its text.
    case receipt(AppReceipt, sha256: [UInt8])
    /// A transaction, with all that Apple signed if that may give access while Apple is away.
    case signedTransaction(TransactionPayload, piece: Evidence?)
  }

  package let kind: Kind
  package let bundleId: BundleId
  /// `Production` or `Sandbox`.
  package let environment: Environment
  /// When Apple made the receipt or signed the transaction, in milliseconds since 1970.
  package let createdAt: Int64
  /// One for each purchase, the newest first.
  package let purchases: [LocalPurchase]
}

/// A purchase of local evidence, as its latest transaction there tells it. Dates are milliseconds since 1970.
package struct LocalPurchase: Equatable {
  package let key: PurchaseKey
  package let transactionId: TransactionId
  package let productId: ProductId
  package var quantity: Int64?
  package var purchaseDate: Int64?
  package var expiresDate: Int64?
  /// When Apple took the transaction back.
  package var cancellationDate: Int64?
  /// All transactions of the purchase in the evidence.
  package var transactionIds: [TransactionId]
  /// Whether Apple signed the names of the purchase and of its environment. Old receipts leave them out, and then
  /// nobody knows yet which purchase it is.
  package var isNamedBySigner = true
}

/// Why a door takes no evidence from a text.
package enum EvidenceRefusal: Error {
  /// It is wrong, and stays wrong.
  ///
  /// - Parameter sha256: the receipt's, see ``LocalEvidence/sha256(ofReceipt:)``; `nil` of a signed transaction.
  case rejected(Rejection, sha256: [UInt8]?)
  /// The publisher has no apps, so every text would be of a foreign app.
  case notActivated
  case tooLarge
  /// The line of texts has no place for it, or it cannot be judged now.
  case busy
}

extension LocalEvidence {
  /// The SHA-256 of a receipt's text without line breaks and spaces, by which doors name the receipt.
  package static func sha256(ofReceipt base64: String) -> [UInt8] { SHA256.hash(base64.utf8.filter { $0 > 0x20 }) }

  /// The SHA-256 of the receipt; `nil` for a signed transaction.
  package var sha256: [UInt8]? { if case .receipt(_, let sha256) = kind { sha256 } else { nil } }

  /// Takes the purchases out of a verified receipt.
  ///
  /// - Throws: ``EvidenceRefusal`` for a receipt whose purchases have no ids or no products.
  package init(_ receipt: AppReceipt, sha256: [UInt8], publisherId: PublisherId) throws(EvidenceRefusal) {
    // Receipts from before there was a sandbox type are from production.
    let environment = receipt.environment ?? .production
    var latest: [PurchaseKey: ListedPurchase] = [:]
    for entry in receipt.inApp {
      guard let id = entry.transactionId, TransactionId.isValid(id.text), let product = entry.productId else {
        throw .rejected(
          Rejection(.malformed, "a purchase in the receipt has no transaction id or no product id"), sha256: sha256)
      }
      let original = entry.originalTransactionId ?? OriginalTransactionId(beginningWith: id)
      guard TransactionId.isValid(original.text) else {
        throw .rejected(
          Rejection(.malformed, "a purchase in the receipt has no valid original transaction id"), sha256: sha256)
      }
      let key = PurchaseKey(publisherId: publisherId, environment: environment, originalTransactionId: original)
      let listed = ListedPurchase(entry: entry, transactionId: id, productId: product, transactionIds: [id])
      latest[key] = latest[key]?.adding(listed) ?? listed
    }
    let purchases = latest.map { key, found in
      LocalPurchase(
        key: key, transactionId: found.transactionId, productId: found.productId,
        quantity: found.entry.quantity, purchaseDate: found.entry.purchaseDate, expiresDate: found.entry.expiresDate,
        cancellationDate: found.entry.cancellationDate, transactionIds: found.transactionIds,
        isNamedBySigner: receipt.environment != nil && found.entry.originalTransactionId != nil)
    }.sorted { one, other in
      let (date, otherDate) = (one.purchaseDate ?? 0, other.purchaseDate ?? 0)
      return date != otherDate ? date > otherDate : one.key < other.key
    }
    self.init(
      kind: .receipt(receipt, sha256: sha256), bundleId: receipt.bundleId, environment: environment,
      createdAt: receipt.receiptCreationDate, purchases: purchases)
  }

  /// Takes the purchase out of a verified transaction.
  ///
  /// - Parameter piece: all that Apple signed; `nil` if nobody needs it.
  /// - Throws: ``EvidenceRefusal`` for a transaction that does not say enough.
  package init(_ payload: TransactionPayload, piece: Evidence? = nil, publisherId: PublisherId) throws(EvidenceRefusal)
  {
    guard let id = payload.transactionId, TransactionId.isValid(id.text),
      let original = payload.originalTransactionId, TransactionId.isValid(original.text),
      let environment = payload.environment, let product = payload.productId,
      let bundle = payload.bundleId, let signed = payload.signedDate
    else { throw .rejected(Rejection(.malformed, "the transaction lacks a field that names it"), sha256: nil) }
    let key = PurchaseKey(publisherId: publisherId, environment: environment, originalTransactionId: original)
    self.init(
      kind: .signedTransaction(payload, piece: piece), bundleId: bundle, environment: environment, createdAt: signed,
      purchases: [
        LocalPurchase(
          key: key, transactionId: id, productId: product, quantity: payload.quantity.map(Int64.init),
          purchaseDate: payload.purchaseDate, expiresDate: payload.expiresDate,
          cancellationDate: payload.revocationDate, transactionIds: [id])
      ])
  }
}

/// A purchase in a receipt: its latest entry, and the transactions of all its entries.
private struct ListedPurchase {
  let entry: InAppReceipt
  let transactionId: TransactionId
  let productId: ProductId
  var transactionIds: [TransactionId]

  func adding(_ other: ListedPurchase) -> ListedPurchase {
    var latest = isEarlier(than: other) ? other : self
    latest.transactionIds = transactionIds + other.transactionIds
    return latest
  }

  private func isEarlier(than other: ListedPurchase) -> Bool {
    let (date, otherDate) = (entry.purchaseDate ?? 0, other.entry.purchaseDate ?? 0)
    return date != otherDate ? date < otherDate : transactionId < other.transactionId
  }
}

import Domain
import HTTPServer

/// The documented answer about a synchronization, with additions for a client that polls several purchases.
struct StatusAnswer: Encodable, Equatable {
  let synchronizationId: SynchronizationId
  let status: String
  let transactionId: TransactionId
  let accessGranted: Bool?
  let environment: Environment?
  let offerId: OfferId?
  let result: String?
  let originalTransactionId: OriginalTransactionId?
  let version: Int64?
  // A consumable tells what to credit, and whether this synchronization is the first that grants it.
  let productId: ProductId?
  let quantity: Int32?
  let type: String?
  let firstGrant: Bool?

  init(_ synchronization: Synchronization) {
    let end = synchronization.result
    synchronizationId = synchronization.id
    status = synchronization.status.rawValue
    transactionId = synchronization.transactionId
    accessGranted = end?.accessGranted
    environment = end?.environment
    offerId = end?.offerId
    result = end?.code.rawValue
    originalTransactionId = end?.originalTransactionId
    version = end == nil ? nil : synchronization.version
    let consumable = end?.consumable
    productId = consumable?.productId
    quantity = consumable?.quantity
    type = consumable.map { _ in ProductKind.consumable.rawValue }
    firstGrant = consumable?.isFirstGrant
  }

  /// The answer. Until the synchronization is finalized, it says when to ask again.
  var response: HTTPServerResponse {
    var response = jsonResponse(200, self)
    switch status {
    case Synchronization.Status.processing.rawValue: response.headers.append(("Retry-After", "1"))
    case Synchronization.Status.retrying.rawValue: response.headers.append(("Retry-After", "5"))
    default: break
    }
    return response
  }
}

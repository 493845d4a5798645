import AppStore
import Domain
import EventLoop

/// What a worker would have found about a numbered job, with the sizes of Apple's answers and without cryptography.
///
/// The bytes that Apple signs are the same for all jobs. Only the facts are each job's own.
@LoopActor
struct BenchmarkEvidence {
  /// A header with three certificates has about 4 KB, a payload about 1 KB.
  private let header = [UInt8](repeating: UInt8(ascii: "e"), count: 4096)
  private let payload = [UInt8](repeating: UInt8(ascii: "p"), count: 1024)
  private let signature = [UInt8](repeating: 7, count: 64)
  private let now = unixMilliseconds()
  /// The publisher of the configuration of `ops/bench`.
  let publisher = Publisher(
    id: Backend.publisher, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([Offer(id: "S123123123_US", productIds: ["com.example.app.monthly"])]),
    sandboxAccess: .everybody, webhooks: [])

  /// The same job always gets the same evidence: a repeated registration brings no news.
  func finalization(_ job: Job) -> FinalizationRequest {
    // A hash is only a name here, and computing a real one is cryptography.
    var hash = Array(job.transactionId.text.utf8)
    hash += [UInt8](repeating: 0, count: 32 - hash.count)
    let transaction = TransactionFacts(
      transactionId: job.transactionId, originalTransactionId: OriginalTransactionId(beginningWith: job.transactionId),
      bundleId: "com.example.app",
      productId: "com.example.app.monthly", kind: .autoRenewable, environment: "Production",
      purchaseDate: now - 86_400_000, expiresDate: now + 2_592_000_000, ownershipType: "PURCHASED", quantity: 1,
      price: 9_990, currency: "USD", signedDate: 1_750_000_000_000, payloadSHA256: hash)
    let piece = Evidence(
      .transaction(transaction), source: .serverAPI, signedHeader: header, payload: payload, signature: signature)
    return FinalizationRequest(job, .evidence(piece.key(of: job.publisherId), [piece]), publisher: publisher)
  }
}

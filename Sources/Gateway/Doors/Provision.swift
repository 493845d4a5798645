import AppStore
import Crypto
import Domain
import EventLoop
import Formats
import JSON
import Ledger
import Observability
import Postgres
import Service
import Store

/// Gives access while Apple is away: on evidence that is verified here, for a time, and only if a run has failed for a
/// reason that is Apple's or the network's.
@LoopActor
struct Provision {
  let context: RoleContext
  let store: PurchaseStore
  let ledger: PostgresClient
  let outlet: EventOutlet
  let verifier: SignedDataVerifier

  /// When a request looks again after its answer, in seconds: the first run may have failed by then.
  private static let looks: [Double] = [2, 5, 10, 20, 30, 60, 120, 300, 600]

  /// Gives access to the purchases whose jobs have not ended.
  func provide(_ open: [(job: Job, purchase: LocalPurchase)], _ request: DoorRequest) async {
    guard !open.isEmpty, let rule = request.publisher.grantWhileAppleIsAway, let evidence = request.evidence,
      request.customerId != nil, isFresh(evidence, rule)
    else { return }
    var waiting: [(Job, Evidence)] = []
    for (job, purchase) in open {
      guard let piece = piece(of: purchase, evidence) else { continue }
      if await !provide(job, piece, request.publisher, rule) { waiting.append((job, piece)) }
    }
    guard !waiting.isEmpty else { return }
    // The client gets its answer now. It asks again, and finds what happened meanwhile.
    let (rest, publisher) = (waiting, request.publisher)
    Task.immediate { @LoopActor in await look(rest, publisher, rule) }
  }

  private func look(
    _ waiting: [(Job, Evidence)], _ publisher: Publisher, _ rule: GrantWhileAppleIsAway
  ) async {
    var waiting = waiting
    for seconds in Self.looks where !waiting.isEmpty {
      guard (try? await EventLoop.sleep(for: .seconds(seconds))) != nil else { return }
      var rest: [(Job, Evidence)] = []
      for (job, piece) in waiting where await !provide(job, piece, publisher, rule) { rest.append((job, piece)) }
      waiting = rest
    }
  }

  /// - Returns: whether there is nothing more to do for the job.
  private func provide(
    _ job: Job, _ piece: Evidence, _ publisher: Publisher, _ rule: GrantWhileAppleIsAway
  ) async -> Bool {
    do {
      let cause = try await store.retryCause(job.publisherId, job.synchronizationId)
      guard cause?.isAppleAway == true else { return false }
      let now = context.now()
      let events = try await ProvisionalGrant(ledger).grant(
        job, piece, until: now + Int64(rule.limit.wholeMilliseconds), publisher: publisher, now: now)
      guard let events else { return true }
      context.log.info(
        "access while Apple is away",
        [
          "publisherId": .int(job.publisherId), "synchronizationId": .string(job.synchronizationId),
          "transactionId": .string(job.transactionId),
        ])
      await outlet.publish(events)
      return true
    } catch {
      context.log.warning("no access while Apple is away", ["cause": .failure(error)])
      return false
    }
  }

  private func isFresh(_ evidence: LocalEvidence, _ rule: GrantWhileAppleIsAway) -> Bool {
    let age = context.now() - evidence.createdAt
    return age <= Int64(rule.maxEvidenceAge.wholeMilliseconds)
  }

  // MARK: Evidence

  private func piece(of purchase: LocalPurchase, _ evidence: LocalEvidence) -> Evidence? {
    switch evidence.kind {
    case .signedTransaction(_, let jws):
      // The text was verified when it came in. This reads its parts again.
      guard let apps = context.publishers[purchase.key.publisherId]?.acceptedApps(),
        case .accepted(let signed) = verifier.signedTransaction(jws, expecting: apps)
      else { return nil }
      return try? Evidence(signed, source: .client)
    case .receipt(_, let sha256): return receiptPiece(of: purchase, evidence, sha256)
    }
  }

  /// A subscription's period as evidence. A receipt does not tell the types of products, and only a subscription has an
  /// end. So nothing else of a receipt gives access before Apple has answered.
  private func receiptPiece(of purchase: LocalPurchase, _ evidence: LocalEvidence, _ sha256: [UInt8]) -> Evidence? {
    guard purchase.isNamedBySigner, let bought = purchase.purchaseDate, let expires = purchase.expiresDate else {
      return nil
    }
    let payload = JSONWriter.object { writer in
      writer.member("bundleId", evidence.bundleId)
      writer.member("environment", purchase.key.environment)
      writer.member("expiresDate", expires)
      writer.member("originalTransactionId", purchase.key.originalTransactionId)
      writer.member("productId", purchase.productId)
      writer.member("purchaseDate", bought)
      writer.member("receiptSha256", Hex.encode(sha256))
      writer.member("revocationDate", purchase.cancellationDate)
      writer.member("signedDate", evidence.createdAt)
      writer.member("transactionId", purchase.transactionId)
      writer.member("type", ProductKind.autoRenewable.rawValue)
    }
    guard let json = try? JSONText(payload), let read = try? TransactionPayload(json),
      let facts = try? TransactionFacts(read, payloadSHA256: SHA256.hash(payload))
    else { return nil }
    return Evidence(.transaction(facts), source: .receipt, signedHeader: [], payload: payload, signature: [])
  }
}

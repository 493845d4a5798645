import Domain
import EventLoop
import Ledger
import Postgres

@testable import Worker

/// The ledger as a commit for each request, with a record of the requests.
@LoopActor
final class LedgerByValue: JobLedger {
  /// The purchases that the ledger knows.
  var purchases: [Purchase] = []
  /// The customers that the ledger knows.
  var customers: [CustomerKey: CustomerRecord] = [:]
  /// The errors of the next requests to finalize, one after the other.
  var refusals: [any Error] = []
  /// What an earlier run has finalized.
  var earlier: Finalized?
  /// The error of every other question.
  var failure: PostgresError?
  /// Runs before a commit.
  var whileCommitting: @LoopActor () -> Void = {}
  private(set) var requests: [FinalizationRequest] = []
  private(set) var results: [SynchronizationResult] = []
  /// How often the worker asked for an earlier result.
  private(set) var searches = 0
  private(set) var postponed: [Int64] = []
  private(set) var confirmed: [EventId] = []

  nonisolated static let refused = PostgresError(
    .server(sqlState: "22021"), operation: "insert evidence", target: "ledger", cause: "invalid byte sequence")

  func finalize(_ request: FinalizationRequest) async throws -> FinalizedSynchronization {
    requests.append(request)
    whileCommitting()
    if !refusals.isEmpty { throw refusals.removeFirst() }
    if let earlier {
      return FinalizedSynchronization(Finalized(synchronization: earlier.synchronization, events: []))
    }
    var state = CommitState(
      purchases: purchases, customers: customers, subscriptionIds: [1], now: JobRunBench.now)
    let done = state.finalize(request)
    if let result = done.synchronization.result { results.append(result) }
    return FinalizedSynchronization(done)
  }

  func postpone(_ job: Job, until due: Int64) async throws {
    if let failure { throw failure }
    postponed.append(due)
  }

  func find(_ job: Job) async throws -> FinalizedSynchronization? {
    searches += 1
    if let failure { throw failure }
    return earlier.map { FinalizedSynchronization($0) }
  }

  func confirm(_ eventIds: [EventId]) { confirmed += eventIds }

  /// The purchase that each request names.
  var keys: [PurchaseKey?] { requests.map(\.purchaseKey) }

  /// A synchronization of the bench's job that an earlier run has finalized, with its event in the outbox.
  nonisolated static func finalized(_ result: SynchronizationResult, version: Int64 = 3) -> Finalized {
    let job = JobRunBench.job
    let synchronization = Synchronization(
      id: job.synchronizationId, publisherId: job.publisherId, customerId: job.customerId,
      transactionId: job.transactionId, status: .finalized,
      result: result, version: version, finalizedAt: JobRunBench.now)
    return Finalized(synchronization: synchronization, events: [Event(of: synchronization)].compactMap { $0 })
  }
}

import Configuration
import Coordination
import Domain
import EventLoop
import Ledger
import Observability
import Service

extension Registration {
  /// Claims the job's transactionId. Where Redis alone cannot tell, asks the ledger: whether the publisher has put the
  /// customer, and whether the synchronization that holds the claim is finalized.
  ///
  /// - Parameter mustBeKnown: as in `TransactionClaims.take(_:checksCustomer:mustBeKnown:isShared:sweepAfter:)`.
  /// - Throws: `RedisError`; `PostgresError`, and then nothing was claimed.
  func claim(
    _ job: Job, checksCustomer: Bool, mustBeKnown: Bool, isShared: Bool = false
  ) async throws -> ClaimAnswer {
    var (checksCustomer, mayTakeOver) = (checksCustomer, true)
    while true {
      let answer = try await claims.take(
        job, checksCustomer: checksCustomer, mustBeKnown: mustBeKnown, isShared: isShared,
        limits: context.settings.gateway.limits.registrations, sweepAfter: context.settings.worker.sweepAfter)
      switch answer {
      case .unknownCustomer where checksCustomer:
        guard try await customers.isRegistered(job.publisherId, job.customerId) else { return answer }
        try await copies.noteStillRegistered(job.publisherId, job.customerId)
        checksCustomer = false
      case .held(let holder) where mayTakeOver:
        guard await takeOver(holder, of: job) else { return answer }
        mayTakeOver = false
      default: return answer
      }
    }
  }
}

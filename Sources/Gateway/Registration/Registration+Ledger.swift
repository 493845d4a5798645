import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import Ledger
import Observability
import Service

/// What the ledger knows of customers and earlier registrations, where Redis cannot tell.
extension Registration {
  /// What the ledger says about the id that a client has chosen.
  enum Earlier {
    /// It is new.
    case unknown
    /// The same registration was accepted before.
    case accepted
    /// It names another synchronization.
    case inUse
    /// The same registration was accepted before, and its result no longer holds.
    case outdated
    /// The ledger does not answer.
    case unreachable
  }

  /// Looks for a synchronization with the job's id.
  func earlier(_ job: Job) async -> Earlier {
    do {
      let known = try await synchronizations.synchronizations(job.publisherId, job.synchronizationId)
      if known.isEmpty { return .unknown }
      guard let same = known.first(where: { SynchronizationReader.isSame($0, as: job) }) else { return .inUse }
      return try await results.holds(same) ? .accepted : .outdated
    } catch {
      context.log.ledgerFailure("the ledger could not be asked for an id", error)
      return .unreachable
    }
  }

  /// Takes over a claim whose synchronization is finalized: its worker died before it could end the claim.
  ///
  /// - Returns: whether another claim makes sense.
  func takeOver(_ holder: Claim, of job: Job) async -> Bool {
    guard holder.synchronizationId != job.synchronizationId else { return false }
    do {
      let known = try await synchronizations.synchronizations(job.publisherId, holder.synchronizationId)
      let isFinalized = known.contains {
        $0.status == .finalized && $0.transactionId == job.transactionId
      }
      guard isFinalized else { return false }
      try await claims.end(holder, job.publisherId, transaction: job.transactionId)
      context.log.info(
        "took over a claim",
        ["synchronizationId": .string(holder.synchronizationId.text), "transactionId": .string(job.transactionId.text)])
      return true
    } catch {
      return false
    }
  }

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

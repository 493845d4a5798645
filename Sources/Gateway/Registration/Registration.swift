import AMQP
import AppStore
import Configuration
import Coordination
import Crypto
import Domain
import EventLoop
import Formats
import HTTPServer
import Ledger
import Messaging
import Observability
import Postgres
import Redis
import Service

/// Registers a purchase. The order of the steps makes the 202 true: claim, publish, prolong, answer.
///
/// 1. One script claims the transactionId, writes the status and notes the synchronization as open, or decides on a 409
/// (``TransactionClaims/take(_:checksCustomer:mustBeKnown:isShared:limits:sweepAfter:)``).
/// 2. The gateway publishes the job, persistent and mandatory, and the broker confirms it.
/// 3. Until now the claim would have expired by itself. The gateway makes it last until the synchronization is
/// finalized.
/// 4. Only then the client gets its 202.
///
/// A failure gives a 503. If step 2 fails, the gateway takes step 1 back. If step 3 fails, the claim expires.
///
/// The broker may have the job all the same, for example in the socket of a stopped broker. The job then runs. So the
/// 503 says either that nothing was kept or that nobody knows. The same `Correlation-Id` tells: the repeated request
/// gets a 202, or a 409 that names the running synchronization.
@LoopActor
struct Registration {
  let context: RoleContext
  let claims: TransactionClaims
  let open: OpenSynchronizations
  let copies: CustomerCopies
  let customers: CustomerStore
  let synchronizations: SynchronizationReader
  let results: KeptResults
  let verifier: SignedDataVerifier
  let publisher: AMQPPublisher
  let topology: Topology
  let metrics: GatewayMetrics

  /// How a registration is answered.
  enum Answer: Equatable {
    /// Its id.
    case accepted(SynchronizationId)
    /// Why not, and the answer to the client of our own API.
    case refused(Refusal, Problem)

    /// A refusal that no caller tells from others.
    static func problem(_ problem: Problem) -> Answer { .refused(.other, problem) }
  }

  /// The cause of a refusal, as far as a caller acts on it.
  enum Refusal: Equatable {
    /// The publisher registers its customers, and has not put this one.
    case unknownCustomer
    /// The transaction has as many jobs as it may have now.
    case held
    /// The publisher or the customer has reached a limit.
    case limited
    case other
  }

  /// Accepts a synchronization.
  ///
  /// - Parameter kind: what it does with the purchase. A transfer goes the same way as a registration.
  func register(
    _ request: RegistrationRequest, _ kind: Job.Kind = .registration, by caller: Caller, trace: TraceParent
  ) async -> Answer {
    guard caller.mayActFor(request.customerId) else {
      return .problem(.forbidden("The token acts for another customer than the request names."))
    }
    guard !caller.publisher.apps.isEmpty else { return .problem(.notActivated) }
    guard kind != .transfer || !caller.publisher.isMigrating else { return .problem(.migrating) }
    guard publisher.isReady else {
      return .problem(.nothingKept("The message broker cannot take jobs now.", isOnlyOne: request.correlationId == nil))
    }
    var signedPurchase: PurchaseKey?
    if let signed = request.signedTransaction {
      do throws(Problem) {
        signedPurchase = try SignedTransactionProof.check(
          signed, of: request.transactionId, publisher: caller.publisher, verifier: verifier)
      } catch {
        return .problem(error)
      }
    }
    let job = Job(
      synchronizationId: request.correlationId ?? newSynchronizationId(), publisherId: caller.publisher.id,
      customerId: request.customerId, transactionId: request.transactionId, kind: kind,
      lane: request.priority.lane(isByCustomer: caller.customerId != nil),
      signedPurchase: signedPurchase, isByCustomer: caller.customerId != nil, tokenName: caller.token?.name,
      ipAddress: request.ipAddress,
      registeredAt: context.now(), traceparent: trace.description)

    var mustBeKnown = false
    if request.correlationId != nil {
      switch await earlier(job) {
      case .unknown: break
      case .accepted: return .accepted(job.synchronizationId)
      case .inUse: return .problem(.idInUse)
      case .outdated: return .problem(.idOutdated)
      // Redis may know the id all the same.
      case .unreachable: mustBeKnown = true
      }
    }
    return await enqueue(job, by: caller, trace, mustBeKnown: mustBeKnown, isOnlyOne: request.correlationId == nil)
  }

  /// Claims the job's transaction and publishes the job.
  ///
  /// - Parameters:
  ///   - mustBeKnown: as in ``claim(_:checksCustomer:mustBeKnown:isShared:)``.
  ///   - isOnlyOne: whether nobody can repeat this very registration, because its id is ours.
  ///   - isShared: whether the job may be accepted while another one holds the transaction. It runs after that one.
  func enqueue(
    _ job: Job, by caller: Caller, _ trace: TraceParent, mustBeKnown: Bool = false, isOnlyOne: Bool = true,
    isShared: Bool = false
  ) async -> Answer {
    let claim: ClaimAnswer
    do {
      claim = try await self.claim(
        job,
        checksCustomer: caller.publisher.customers(through: job.door) == .registered && !job.isUnclaimed,
        mustBeKnown: mustBeKnown, isShared: isShared)
    } catch {
      log(of: job, trace).warning("claim failed", ["cause": .failure(error)])
      return .problem(refusal(of: job, error, isOnlyOne: isOnlyOne))
    }
    switch claim {
    case .claimed: break
    case .replayed: return .accepted(job.synchronizationId)
    case .unknownCustomer: return .refused(.unknownCustomer, .unknownCustomer(job.customerId))
    case .idInUse: return .problem(.idInUse)
    case .limited(let limit, let wait):
      metrics.limited(limit, job.publisherId)
      return .refused(.limited, .limited(limit, wait))
    case .unknownId:
      return .problem(
        .nothingKept("The ledger cannot say now whether the Correlation-Id is new.", isOnlyOne: false))
    case .held(let holder):
      let isOwn = caller.mayActFor(holder.customerId)
      return .refused(
        .held, .locked(job.kind, by: holder.kind, instance: isOwn ? statusPath(holder.synchronizationId) : nil))
    }

    do {
      let message = JobMessage.message(job, attempt: 1, queue: topology.jobs(job.lane))
      try await publisher.publish(message, timeout: context.settings.gateway.publishTimeout)
    } catch {
      let log = log(of: job, trace)
      log.warning("publish failed", ["cause": .failure(error)])
      let isUndone = await undo(job, log)
      return .problem(
        .notPublished(error, isUndone: isUndone, of: job.synchronizationId, isOnlyOne: isOnlyOne))
    }

    do {
      guard try await claims.prolong(job) else {
        // Redis lost what it had. The job runs, but the client has no promise.
        log(of: job, trace).warning("registration lost before it was confirmed")
        return .problem(.unconfirmed("The store lost the registration.", of: job.synchronizationId))
      }
    } catch {
      log(of: job, trace).warning("prolong failed", ["cause": .failure(error)])
      return .problem(.unconfirmed("The store did not confirm the claim.", of: job.synchronizationId))
    }
    metrics.accepted(job.publisherId)
    let done = job.kind == .transfer ? "transfer accepted" : "registered"
    log(of: job, trace).info(done, ["customer": .customer(job.customerId.text, of: job.publisherId.number)])
    return .accepted(job.synchronizationId)
  }

  /// A log whose lines name the job. The registration makes it only when it has a line to write.
  private func log(of job: Job, _ trace: TraceParent) -> Log {
    context.log.with([
      "synchronizationId": .string(job.synchronizationId.text), "transactionId": .string(job.transactionId.text),
      "publisherId": .int(job.publisherId.number), "traceId": .string(trace.traceId),
    ])
  }

  /// The answer to the client after a failed claim.
  private func refusal(of job: Job, _ error: any Error, isOnlyOne: Bool) -> Problem {
    if let error = error as? PostgresError {
      // Redis has no copy of the customer, and only the ledger could say more.
      let problem = Problem.ledger(error)
      return problem.status == 503
        ? .nothingKept("The ledger cannot say whether the customer is known.", isOnlyOne: isOnlyOne) : problem
    }
    guard let error = error as? RedisError, error.provesAbsence else {
      // The script may have run. Then the claim expires, but the sweep may enqueue the open synchronization before.
      return .unconfirmed("The store did not answer.", of: job.synchronizationId)
    }
    let problem = Problem.store(error)
    return problem.status == 503 ? .nothingKept(problem.detail ?? "", isOnlyOne: isOnlyOne) : problem
  }

  /// Removes a claim.
  ///
  /// - Returns: whether it succeeded. If not, a worker runs an earlier job of the same `Correlation-Id`, or the claim
  ///   expires and the sweep enqueues the open synchronization.
  private func undo(_ job: Job, _ log: Log) async -> Bool {
    do {
      return try await claims.undo(job)
    } catch {
      log.warning("undo failed", ["cause": .failure(error)])
      return false
    }
  }
}

/// 128 random bits in hexadecimal.
func newSynchronizationId() -> SynchronizationId {
  var generator = SystemRandomNumberGenerator()
  let (high, low) = (generator.next() as UInt64, generator.next() as UInt64)
  return SynchronizationId(Hex.encode(withUnsafeBytes(of: (high, low)) { Array($0) }))
}

/// The path of a synchronization's status, with the percent-encoded id.
func statusPath(_ id: SynchronizationId) -> String {
  "/storekit2/purchases/synchronizations/" + PercentCoding.encoded(id.text)
}

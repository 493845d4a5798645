import AMQP
import Configuration
import Crypto
import Domain
import EventLoop
import Formats
import HTTPServer
import Messaging
import Observability
import Service
import Store

/// Takes a purchase in. The order makes the 202 true: claim, publish, prolong, answer.
///
/// 1. One script claims the transactionId, writes the status and notes the synchronization as open.
/// 2. The job is published, persistent and mandatory, and the broker has confirmed it.
/// 3. The claim, which until now would have expired by itself, is made to last until the synchronization is finalized.
/// 4. Only then the client gets its 202.
///
/// A failure in step 2 takes step 1 back; a failure in step 3 leaves it to expire. Neither gives a 202.
@LoopActor
struct Registration {
  let context: RoleContext
  let store: PurchaseStore
  let publisher: AMQPPublisher
  let topology: Topology

  /// What a registration came to.
  enum Answer: Equatable {
    case accepted(String)
    case problem(Problem)
  }

  func register(_ request: RegistrationRequest, by caller: Caller, trace: TraceParent) async -> Answer {
    guard caller.mayActFor(request.customerId) else {
      return .problem(.forbidden("The token acts for another customer than cleengCustomerId."))
    }
    guard !caller.publisher.apps.isEmpty else { return .problem(.notActivated) }
    guard publisher.isReady else { return .problem(.unavailable("The message broker cannot take jobs now.")) }
    let job = Job(
      synchronizationId: request.correlationId ?? newSynchronizationId(), publisherId: caller.publisher.id,
      customerId: request.customerId, transactionId: request.transactionId, ipAddress: request.ipAddress,
      registeredAt: context.now(), traceparent: trace.description)

    let claim: ClaimAnswer
    do {
      claim = try await store.claim(
        job, checksCustomer: caller.publisher.customers == .registered,
        sweepAfter: context.settings.worker.sweepAfter)
    } catch {
      // The script may have run all the same; its claim then expires, since no job confirms it.
      log(of: job, trace).warning("claim failed", ["cause": .failure(error)])
      return .problem(.store(error))
    }
    switch claim {
    case .claimed: break
    case .replayed: return .accepted(job.synchronizationId)
    case .unknownCustomer: return .problem(.unknownCustomer(job.customerId))
    case .idInUse:
      return .problem(.invalidHeaders("Correlation-Id: names a synchronization of another purchase; use a new one"))
    case .held(let holder):
      let isOwn = caller.mayActFor(holder.customerId)
      return .problem(.locked(instance: isOwn ? statusPath(holder.synchronizationId) : nil))
    }

    do {
      let message = JobMessage.message(job, attempt: 1, queue: topology.jobs)
      try await publisher.publish(message, timeout: context.settings.gateway.publishTimeout)
    } catch {
      let log = log(of: job, trace)
      log.warning("publish failed", ["cause": .failure(error)])
      await undo(job, log)
      return .problem(.unavailable("The message broker did not take the job."))
    }

    do {
      guard try await store.prolongClaim(job) else {
        // Redis lost the claim, or the broker took longer than the claim lasts and somebody else has it. The job runs,
        // but nobody was promised.
        log(of: job, trace).warning("claim lost before it was confirmed")
        return .problem(.unavailable("The store lost the claim."))
      }
    } catch {
      log(of: job, trace).warning("prolong failed", ["cause": .failure(error)])
      return .problem(.store(error))
    }
    log(of: job, trace).info("registered", ["customerId": .int(job.customerId)])
    return .accepted(job.synchronizationId)
  }

  /// A log whose lines name the job; made when there is something to say.
  private func log(of job: Job, _ trace: TraceParent) -> Log {
    context.log.with([
      "synchronizationId": .string(job.synchronizationId), "transactionId": .string(job.transactionId),
      "publisherId": .int(job.publisherId), "traceId": .string(trace.traceId),
    ])
  }

  private func undo(_ job: Job, _ log: Log) async {
    do {
      try await store.undoClaim(job)
    } catch {
      // The claim expires by itself, and the sweep finds nothing that was promised.
      log.warning("undo failed", ["cause": .failure(error)])
    }
  }
}

/// 128 random bits in hexadecimal.
private func newSynchronizationId() -> String {
  var generator = SystemRandomNumberGenerator()
  let (high, low) = (generator.next() as UInt64, generator.next() as UInt64)
  return Hex.encode(withUnsafeBytes(of: (high, low)) { Array($0) })
}

/// The path of a synchronization's status, with the id encoded.
func statusPath(_ id: String) -> String { "/storekit2/purchases/synchronizations/" + PercentCoding.encoded(id) }

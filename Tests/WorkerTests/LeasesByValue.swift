import Coordination
import Domain
import EventLoop
import Redis
import TestSupport

@testable import Worker

/// The leases in Redis as a list of answers, with a record of the questions.
@LoopActor
final class LeasesByValue: JobLeases {
  /// The answers to requests for a lease; the last one repeats.
  var answers: [Result<LeaseAnswer, RedisError>] = [.success(.taken(Lease(fence: 5, route: nil)))]
  /// The answer to the end of a finalized synchronization; `nil` takes it.
  var finalizeFailure: RedisError?
  /// Runs before Redis takes a finalized synchronization.
  var whileFinalizing: @LoopActor () -> Void = {}
  /// The synchronizations whose leases others have.
  var lost: Set<SynchronizationId> = []
  /// Whether the store holds the next lease back until ``letGo()``.
  var holdsNextLease = false
  private var held: Gate?
  private(set) var askedForLease: [Bool] = []
  /// The places that each lease was asked for.
  private(set) var askedPlaces: [[CallPlace]] = []
  /// Whether each job might have called Apple at once.
  private(set) var mayCalls: [Bool] = []
  /// The run that each delivery was for.
  private(set) var runs: [Int64] = []
  /// The copy that each job has, or would have in the line.
  private(set) var askedCopies: [JobCopy] = []
  private(set) var forgotten: [String] = []
  private(set) var finalized: [FinalizedJob] = []
  private(set) var released: [Release] = []
  private(set) var renewed: [SynchronizationId] = []
  /// How many leases each call renewed.
  private(set) var renewals: [Int] = []

  struct Release: Equatable {
    let isRetrying: Bool
    let isRun: Bool
    let sweepAfter: Duration
    var route: String?
  }

  nonisolated static let unreachable = RedisError(.unreachable, operation: "EVALSHA", target: "Redis", cause: "down")
  nonisolated static let newer = RedisError(
    .reply, operation: "script", target: "Redis", cause: "NEWER sync:1:s has version 2, and this process reads 1")

  func take(
    _ job: Job, attempt: Int, copy: JobCopy, for duration: Duration, sweepAfter: Duration, isDelivered: Bool,
    wasRedelivered: Bool, places: [CallPlace], mayCall: Bool, run: Int64
  ) async throws -> LeaseAnswer {
    askedCopies.append(copy)
    askedForLease.append(wasRedelivered)
    askedPlaces.append(places)
    mayCalls.append(mayCall)
    runs.append(run)
    if holdsNextLease {
      holdsNextLease = false
      let gate = Gate()
      held = gate
      await gate.pass()
    }
    return try (answers.count > 1 ? answers.removeFirst() : answers[0]).get()
  }

  func renew(
    _ held: [(job: Job, lease: Lease)], for duration: Duration, sweepAfter: Duration
  ) async throws -> [Bool] {
    renewed += held.map(\.job.synchronizationId)
    renewals.append(held.count)
    return held.map { !lost.contains($0.job.synchronizationId) }
  }

  func release(
    _ job: Job, _ lease: Lease, isRetrying: Bool, sweepAfter: Duration, route: String?, cause: RetryCause?,
    isRun: Bool
  ) async throws {
    released.append(Release(isRetrying: isRetrying, isRun: isRun, sweepAfter: sweepAfter, route: route))
  }

  func forget(_ copy: JobCopy, of job: Job) async throws { forgotten.append(copy.id) }

  func finalize(_ job: FinalizedJob) async throws {
    whileFinalizing()
    if let finalizeFailure { throw finalizeFailure }
    finalized.append(job)
  }

  func letGo() { held?.open() }
}

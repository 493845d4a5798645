import Domain
import EventLoop
import Ledger

/// The part of the ledger that a run uses.
@LoopActor
protocol JobLedger {
  /// Finalizes a synchronization; returns after the commit.
  func finalize(_ request: FinalizationRequest) async throws -> FinalizedSynchronization
  /// Keeps a job that waits for more than 30 s.
  func postpone(_ job: Job, until due: Int64) async throws
  /// What an earlier run has finalized, with its events that are still in the outbox.
  func find(_ job: Job) async throws -> FinalizedSynchronization?
  /// Notes that the broker has confirmed events.
  func confirm(_ eventIds: [EventId])
}

extension Commits: JobLedger {}

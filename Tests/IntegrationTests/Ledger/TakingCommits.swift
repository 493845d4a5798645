import Domain
import EventLoop

@testable import Ledger

/// Commits whose events the test takes. A role gives them to its outlet.
@LoopActor
struct TakingCommits {
  private let commits: Commits

  init(_ commits: Commits) { self.commits = commits }

  func finalize(_ request: FinalizationRequest) async throws -> Finalized {
    try await commits.finalize(request).taken()
  }

  func find(_ job: Job) async throws -> Finalized? {
    guard let found = try await commits.find(job) else { return nil }
    return found.taken()
  }

  func apply(_ update: PurchaseUpdate) async throws -> [Event] { try await commits.apply(update).takeEvents() }
  func postpone(_ job: Job, until due: Int64) async throws { try await commits.postpone(job, until: due) }
  func confirm(_ eventIds: [EventId]) { commits.confirm(eventIds) }
  func flushConfirmed() async { await commits.flushConfirmed() }
  func stop() { commits.stop() }
}

extension FinalizedSynchronization {
  /// The result with its events.
  consuming func taken() -> Finalized {
    let synchronization = synchronization
    return Finalized(synchronization: synchronization, events: takeTold().takeEvents())
  }
}

extension Optional where Wrapped == PurchaseRelease.Answer {
  /// The events; `nil` if there is no such purchase.
  consuming func taken() -> [Event]? {
    guard let answer = self else { return nil }
    return answer.takeTold().takeEvents()
  }
}

extension Optional where Wrapped == Told {
  /// The events; `nil` if nothing was committed.
  consuming func taken() -> [Event]? {
    guard let told = self else { return nil }
    return told.takeEvents()
  }
}

extension NotificationStore {
  /// Finishes notifications, and takes the events of their notices.
  func finishing(
    _ keys: [NotificationKey], telling notices: [NotificationNotice], audience: EventAudience = []
  ) async throws -> (events: [Event], told: Int, stored: Int, cut: [NotificationNotice]) {
    let finished = try await finish(
      keys, telling: notices, audience: audience, now: CommitLab.now, traceparent: nil)
    let (told, stored, cut) = (finished.told, finished.stored, finished.cut)
    return (finished.takeTold().takeEvents(), told, stored, cut)
  }
}

extension Optional where Wrapped == FinalizedSynchronization {
  /// The result with its events; `nil` if nothing was committed.
  consuming func taken() -> Finalized? {
    guard let finalized = self else { return nil }
    return finalized.taken()
  }
}

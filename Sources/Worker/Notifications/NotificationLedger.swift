import Coordination
import Domain
import EventLoop
import Ledger

/// The part of the ledger that has notifications. Every method throws `PostgresError`.
@LoopActor
protocol NotificationLedger {
  /// Those of the notifications that nobody has applied.
  func open(_ keys: [NotificationKey]) async throws -> [NotificationKey: KeptNotification.Open]
  /// Lets notifications wait that this worker cannot judge.
  func putOff(_ keys: [NotificationKey]) async throws
  /// Notes that notifications are done that are about no purchase, and tells their notices.
  func finish(
    _ keys: [NotificationKey], telling notices: [NotificationNotice], audience: EventAudience, now: Int64,
    traceparent: String?
  ) async throws -> NotificationStore.Finished
  /// Takes notifications that nobody has applied in time.
  func takeOverdue(of publisherIds: [PublisherId], limit: Int) async throws -> [NotificationKey]
  /// Puts aside what publishers have of some notifications, with the reason of each; returns what was open.
  func putAside(_ reasons: [NotificationUUID: String], of publisherIds: [PublisherId]) async throws -> [NotificationKey]
}

extension NotificationStore: NotificationLedger {}

/// How many runs of something have begun and never ended. Every method throws `RedisError`.
@LoopActor
protocol RunCounts {
  /// Whether Redis can answer now.
  var isReady: Bool { get }
  /// How many runs of each have not ended, in the order of the names.
  func counts(_ names: [String]) async throws -> [Int]
  /// Notes that a run of each begins.
  func begin(_ names: [String]) async throws
  /// Notes that the runs of each have ended.
  func end(_ names: [String]) async throws
}

extension BegunRuns: RunCounts {}

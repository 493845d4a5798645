import Configuration
import Domain
import EventLoop
import Ledger
import Observability
import Service

/// Deletes what the ledger need not remember any more. A full batch is followed by another one at the next look.
@LoopActor
struct RetentionLook {
  /// Deletes synchronizations and events.
  let deleteOldest: @LoopActor () async throws -> Void
  /// Deletes notifications; returns how many.
  let deleteNotifications: @LoopActor () async throws -> Int
  /// Deletes old imports over HTTP.
  let deleteImports: @LoopActor () async throws -> Void
  let log: Log

  /// Looks once.
  ///
  /// - Returns: how many notifications it deleted.
  func run() async -> Int {
    do {
      try await deleteOldest()
      try await deleteImports()
      return try await deleteNotifications()
    } catch {
      log.warning("old rows could not be deleted", ["cause": .failure(error)])
      return 0
    }
  }
}

extension RetentionLook {
  /// Rows of each other kind that one look deletes.
  private static let mostDeleted = 10_000
  /// Old notifications that one look deletes. Each has some 20 KB, outside of the table.
  private static let mostNotificationsDeleted = 2000
  /// Old imports that one look deletes. Each may have 256 MiB.
  private static let mostImportsDeleted = 4

  /// The chore of a worker.
  static func chore(_ parts: WorkerParts) -> Chore {
    let (context, ledger) = (parts.context, parts.ledger)
    let look = RetentionLook(
      deleteOldest: {
        _ = try await Retention(ledger.postgres).deleteOldest(
          synchronizations: context.settings.worker.statusRetention, events: context.settings.notifier.logRetention,
          limit: mostDeleted)
      },
      deleteNotifications: {
        try await Retention(ledger.postgres).deleteNotifications(
          after: context.settings.worker.notificationRetention, limit: mostNotificationsDeleted)
      },
      deleteImports: {
        _ = try await Retention(ledger.postgres).deleteImports(
          after: UploadedImport.retention, limit: mostImportsDeleted)
      }, log: context.log)
    return Chore(
      every: context.settings.worker.sweepInterval, .dropped, isReady: { ledger.isReady },
      look: { [metrics = parts.metrics] in metrics.deletedNotifications.add(Double(await look.run())) })
  }
}

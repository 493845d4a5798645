public import Domain
public import EventLoop
import JSON
public import Postgres

/// The jobs that wait in the ledger for their next run.
@LoopActor
public struct WaitingSynchronizations {
  private let postgres: PostgresClient

  /// Creates the waiting synchronizations of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Takes jobs whose run is overdue, because their message or their entry in Redis was lost.
  ///
  /// Each is due now, so that another sweep gets it only if it is overdue again. A job that a newer process wrote stays
  /// for that process.
  ///
  /// - Parameter doors: those of this build.
  /// - Throws: `PostgresError`.
  public func takeOverdue(by delay: Duration, limit: Int, doors: DoorCatalog) async throws -> [Job] {
    let rows = try await postgres.run(
      PostgresQuery(SynchronizationRow.takeOverdue, [.int64(Int64(delay / .milliseconds(1))), .int64(Int64(limit))]))
    return try rows.compactMap { row in
      try row.bytes("job").flatMap { try? Job(JSONText($0, limits: .own), doors: doors) }
    }
  }
}

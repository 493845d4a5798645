import Domain
public import EventLoop
public import Postgres

/// The events that the broker has not confirmed. ``Commits/confirm(_:)`` takes them out.
@LoopActor
public struct Outbox {
  private let postgres: PostgresClient

  /// Creates the outbox of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Takes events that have waited for too long, because the process that committed them could not publish them.
  ///
  /// Each event waits as long again. So one sweep has it at a time, and another one gets it if this one fails.
  ///
  /// - Throws: `PostgresError`.
  public func takeOverdue(olderThan age: Duration, limit: Int) async throws -> Told {
    let rows = try await postgres.run(
      PostgresQuery(OutboxRow.take, [.int64(Int64(age / .milliseconds(1))), .int64(Int64(limit))]))
    return Told(try Event.all(rows))
  }
}

public import Domain
public import EventLoop
public import Postgres

/// Gives access to a purchase while Apple is away, in one commit with the events about it.
@LoopActor
public struct ProvisionalAccess {
  private let postgres: PostgresClient

  /// Creates a grant.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// How long after the grant a sweep of the ledger enqueues the job again, if nothing else has.
  private static let patience: Int64 = 600_000

  /// Lets a job's customer use the purchase of a verified piece of evidence, unless Apple has answered by now.
  ///
  /// The commit keeps the job too: whoever finalizes it finds the purchase and confirms or withdraws the access.
  ///
  /// - Parameters:
  ///   - until: the end of the access, in milliseconds since 1970.
  ///   - now: milliseconds since 1970.
  /// - Returns: the events to publish; `nil` if nothing was given.
  /// - Throws: `PostgresError`. It may run again after any failure.
  public func grant(
    _ job: Job, _ piece: Evidence, until: Int64, publisher: Publisher, now: Int64
  ) async throws -> Told? {
    let key = piece.key(of: job.publisherId)
    let reading = CommitReading(
      [FinalizationRequest(job, .evidence(key, [piece]), publisher: publisher)], waiting: [job])
    let events = try await postgres.repeatingConflicts { transaction -> [Event]? in
      var queries = [DeniedTransactions.lock([job])] + reading.queries
      queries.append(OwnershipRow.nextBlocks(for: Int64(reading.numbers)))
      var rows = try await transaction.query(queries)
      let ids = try OwnershipRow.numbers(rows.removeLast())
      var found = try reading.read(Array(rows.dropFirst()), now: now, subscriptionIds: ids)
      guard found.finalized(SynchronizationKey(job)) == nil,
        found.state.grantProvisionally(job, piece, until: until, publisher: publisher)
      else { return nil }
      let writing = CommitWriting(
        found.state, waiting: Set(found.synchronizations.keys),
        postponed: [SynchronizationRow.Waiting(job, until: now + Self.patience)],
        audience: publisher.audience)
      _ = try await transaction.commit(writing.queries)
      return found.state.changes.events
    }
    return events.map { Told($0) }
  }
}

public import Domain
public import EventLoop
public import Postgres

/// Moves a purchase to another customer for a person at the console. The console has no broker, so no job goes to a
/// worker: this is the commit that the worker would make, with the same decision, and the same result and events.
@LoopActor
public struct PurchaseTransfer {
  private let postgres: PostgresClient

  /// Creates a transfer.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Finalizes a transfer. Whoever sends the same job again, gets the first result.
  ///
  /// - Parameters:
  ///   - job: the transfer, with the customer who shall become the owner.
  ///   - publisher: the purchase's, with its present rules.
  ///   - subscriptionId: the period of ownership that the person saw; `nil` if nobody owned the purchase.
  ///   - person: who does it.
  ///   - now: milliseconds since 1970.
  /// - Returns: `nil` if there is no such purchase, or if it has another owner by now. Then nothing has changed. With
  ///   another result than `purchaseOwnershipTransferred`, nothing has changed either.
  /// - Throws: `PostgresError`. It may run again after any failure.
  public func transfer(
    _ key: PurchaseKey, by job: Job, publisher: Publisher, subscriptionId: Int64?, person: String, now: Int64
  ) async throws -> FinalizedSynchronization? {
    let request = FinalizationRequest(job, .known(key), publisher: publisher)
    let reading = CommitReading([request], waiting: [])
    let queries = reading.queries + [OwnershipRow.nextBlocks(for: Int64(reading.numbers))]
    let finalized = try await postgres.repeatingConflicts { transaction -> Finalized? in
      var rows = try await transaction.query(queries)
      let numbers = try OwnershipRow.numbers(rows.removeLast())
      var found = try reading.read(rows, now: now, subscriptionIds: Array(numbers.suffix(reading.numbers)))
      if let kept = found.finalized(SynchronizationKey(job)) {
        return Finalized(synchronization: kept.synchronization, events: [])
      }
      guard let purchase = found.state.purchases[key], purchase.owner?.subscriptionId == subscriptionId else {
        return nil
      }
      let finalized = found.state.finalize(request)
      guard finalized.synchronization.result?.code == .purchaseOwnershipTransferred else {
        // The person sees why. Nothing is kept, and nobody is told.
        return Finalized(synchronization: finalized.synchronization, events: [])
      }
      let writing = CommitWriting(
        found.state, waiting: Set(found.synchronizations.keys), audience: publisher.audience, person: person)
      _ = try await transaction.commit(writing.queries)
      return finalized
    }
    return finalized.map { FinalizedSynchronization($0) }
  }
}

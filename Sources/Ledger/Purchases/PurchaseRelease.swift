public import Domain
public import EventLoop
public import Postgres

/// Takes a purchase from its owner, in one commit with the events and the audit row about it.
@LoopActor
public struct PurchaseRelease {
  private let postgres: PostgresClient

  /// Creates a release.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Releases a purchase. If nobody owns it, nothing changes.
  ///
  /// - Parameters:
  ///   - publisher: the purchase's, with its present rules.
  ///   - now: milliseconds since 1970.
  /// - Returns: the events to publish, which are in the outbox; `nil` if there is no such purchase.
  /// - Throws: `PostgresError`. It may run again after any failure.
  public func release(
    _ key: PurchaseKey, publisher: Publisher, now: Int64, traceparent: String? = nil
  ) async throws -> [Event]? {
    let reading = OwnerReading(key: key)
    return try await postgres.repeatingConflicts { transaction -> [Event]? in
      guard var state = try reading.read(try await transaction.query(reading.queries), now: now) else { return nil }
      guard let owner = state.release(key, publisher: publisher, traceparent: traceparent) else { return [] }
      let writing = CommitWriting(
        state, waiting: [], postponed: [], knownChains: [],
        configured: publisher.webhooks.isEmpty ? [] : [publisher.id],
        confirmed: [])
      let audit = AuditEntry.owner(
        "purchase.released", of: key, subscriptionId: owner.subscriptionId, by: .publisher)
      _ = try await transaction.commit(writing.queries + [AuditEntry.insert([audit])])
      return state.changes.events
    }
  }
}

extension PostgresClient {
  /// Runs a transaction, and runs it again after a conflict with another one.
  func repeatingConflicts<R>(_ body: @LoopActor (PostgresTransaction) async throws -> R) async throws -> R {
    // A conflict passes at once. More of them in a row are something else.
    for _ in 0..<20 {
      do {
        return try await transaction(body)
      } catch let error as PostgresError where error.isConflict {
        continue
      }
    }
    return try await transaction(body)
  }
}

extension PostgresError {
  /// Whether another transaction came first: a serialization failure, a deadlock, or a row that both insert.
  fileprivate var isConflict: Bool {
    switch code {
    case .server(let state): ["40001", "40P01", "23505"].contains(state)
    default: false
    }
  }
}

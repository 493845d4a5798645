public import Domain
public import EventLoop
public import Postgres

/// Writes events that no other commit tells.
@LoopActor
public struct EventWriter {
  private let postgres: PostgresClient

  /// Creates a writer.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Writes events and their outbox in one commit. A repeated call writes nothing more.
  ///
  /// - Parameter audience: whom the events are told.
  /// - Returns: the events to publish.
  /// - Throws: `PostgresError`.
  public func write(_ events: [Event], audience: EventAudience) async throws -> Told {
    _ = try await postgres.repeatingConflicts { transaction in
      try await transaction.commit(Event.tell(events, audience: audience))
    }
    return Told(events)
  }
}

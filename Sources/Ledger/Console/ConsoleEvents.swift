public import Domain
import EventLoop
public import Postgres

/// An event and what is still owed of it, for the console. Times are milliseconds since 1970.
public struct ConsoleEvent: Sendable, Equatable {
  public let publisherId: PublisherId
  public let id: EventId
  /// `nil` if the ledger does not keep the event, or not any more.
  public let event: Event?
  /// Whether the broker has not confirmed it yet.
  public let isInOutbox: Bool
  public let open: [OpenDelivery]

  /// A delivery that waits for its first or its next attempt.
  public struct OpenDelivery: Sendable, Equatable {
    /// ``EndpointId/unknown`` until a notifier has looked which endpoints get the event.
    public let endpointId: EndpointId
    public let round: DeliveryRound
    /// The number of the next attempt.
    public let attempt: Int64
    public let dueAt: Int64

    /// Creates a delivery.
    public init(endpointId: EndpointId, round: DeliveryRound = .first, attempt: Int64, dueAt: Int64) {
      (self.endpointId, self.round, self.attempt, self.dueAt) = (endpointId, round, attempt, dueAt)
    }
  }

  /// Creates an event.
  public init(publisherId: PublisherId, id: EventId, event: Event?, isInOutbox: Bool = false, open: [OpenDelivery] = [])
  {
    (self.publisherId, self.id, self.event) = (publisherId, id, event)
    (self.isInOutbox, self.open) = (isInOutbox, open)
  }

  /// Reads an event by its keys.
  ///
  /// - Throws: `PostgresError`; ``UnreadableRecord`` for a row of a newer process.
  @LoopActor
  public static func read(_ publisher: PublisherId, _ id: EventId, _ postgres: PostgresClient) async throws
    -> ConsoleEvent
  {
    let rows = try await postgres.run([
      Event.read([id]), PostgresQuery(.readConsoleOutbox, [.id(id)]),
      PostgresQuery(.readConsoleOpenDeliveries, [.id(publisher), .id(id)]),
    ])
    let event = try Event.all(rows[0]).first { $0.publisherId == publisher }
    return ConsoleEvent(
      publisherId: publisher, id: id, event: event, isInOutbox: event != nil && !rows[1].isEmpty,
      open: try rows[2].map { row in
        OpenDelivery(
          endpointId: try row.id("endpoint_id") ?? .unknown, round: try row.id("round") ?? .first,
          attempt: try row.int64("attempt") ?? 1, dueAt: try row.time("due_at") ?? 0)
      })
  }
}

extension PostgresStatement {
  fileprivate static let readConsoleOutbox = PostgresStatement(
    "console: read outbox", isByKeys: true, "SELECT 1 AS found FROM outbox WHERE event_id = $1")

  fileprivate static let readConsoleOpenDeliveries = PostgresStatement(
    "console: read open deliveries", isByKeys: true,
    """
    SELECT endpoint_id, round, attempt::bigint AS attempt, due_at FROM deliveries
    WHERE event_id = $2 AND publisher_id = $1 ORDER BY endpoint_id, round LIMIT 100
    """)
}

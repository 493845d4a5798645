public import Domain
import Formats
public import Postgres

// The commit that makes an event true writes its row. So the event can be published, and delivered again, by anyone at
// any time, and it is the same each time.

extension Event {
  /// Writes events: their rows, the outbox, and what is owed to the endpoints of their publishers.
  ///
  /// An event that the ledger has stays as it is, so a repeated commit tells the same bytes.
  ///
  /// - Parameter audience: whom the events are told.
  public static func tell(_ events: [Event], audience: EventAudience) -> [PostgresQuery] {
    let events = sorted(events)
    let told = events.filter { !audience.inShadow.contains($0.publisherId) }
    if told.isEmpty { return [insert(sorted: events)] }
    let (ids, publishers) = (told.map(\.id), told.map(\.publisherId))
    return [
      insert(sorted: events), PostgresQuery(OutboxRow.insert, [.ids(ids)]),
      PostgresQuery(
        OutboxRow.insertDeliveries,
        [.ids(ids), .ids(publishers), .bools(publishers.map(audience.withWebhooks.contains))]),
    ]
  }

  /// Writes the rows of events, in the order of their ids.
  static func insert(sorted events: [Event]) -> PostgresQuery {
    PostgresQuery(.insertEvents, EventRow.table.parameters(events.map(EventRow.init)))
  }

  /// Takes events out of the outbox that the broker has confirmed.
  public static func confirmed(_ ids: [EventId]) -> PostgresQuery {
    PostgresQuery(OutboxRow.delete, [.ids(Set(ids).sorted())])
  }

  /// Reads events by their ids. ``all(_:)`` reads the rows. An unknown id has no row.
  public static func read(_ ids: [EventId]) -> PostgresQuery { PostgresQuery(.readEvents, [.ids(ids)]) }

  /// Reads the rows of ``read(_:)``.
  ///
  /// - Throws: `PostgresError` and ``UnreadableRecord`` for rows that this code cannot read.
  public static func all(_ rows: PostgresRows) throws -> [Event] { try EventRow.table.records(rows).map(\.event) }

  /// In the order of the ids and each id once, so that two commits lock rows in one order.
  private static func sorted(_ events: [Event]) -> [Event] {
    if events.count < 2 { return events }
    var known: [EventId: Event] = [:]
    for event in events where known[event.id] == nil { known[event.id] = event }
    return known.sorted { $0.key < $1.key }.map(\.value)
  }
}

extension PostgresStatement {
  /// An event about an erased customer, or about a purchase of nobody's, has no customer here. It may name a person all
  /// the same, whom nobody could erase. So it goes as soon as nobody is owed it. The topics in the list name nobody.
  fileprivate static let insertEvents = PostgresStatement(
    "insert events",
    """
    INSERT INTO events (\(EventRow.table.names), erased)
    SELECT n.*, n.customer_id IS NULL AND n.topic NOT IN ('\(EventTopic.webhookEndpointDisabled)',
        '\(EventTopic.externalPurchaseTokenDue)', '\(EventTopic.test)')
    FROM \(EventRow.table.source)
    ON CONFLICT (id) DO NOTHING
    """)

  fileprivate static let readEvents = PostgresStatement(
    "read events", "SELECT \(EventRow.table.selected("e")) FROM events e WHERE e.id = ANY($1)")
}

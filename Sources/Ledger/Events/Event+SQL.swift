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
  /// - Parameter configured: the publishers whose files name webhook endpoints.
  public static func tell(_ events: [Event], configured: Set<Int64>) -> [PostgresQuery] {
    let events = sorted(events)
    let (ids, publishers) = (events.map(\.id), events.map(\.publisherId))
    return [
      insert(sorted: events), PostgresQuery(OutboxRow.insert, [.texts(ids)]),
      PostgresQuery(
        OutboxRow.insertDeliveries,
        [.texts(ids), .int64s(publishers), .bools(publishers.map(configured.contains))]),
    ]
  }

  /// Writes the rows of events, in the order of their ids.
  static func insert(sorted events: [Event]) -> PostgresQuery {
    PostgresQuery(
      .insertEvents,
      [
        .texts(events.map(\.id)), .int64s(events.map(\.publisherId)), .texts(events.map(\.customerId)),
        .texts(events.map(\.topic)), .int64s(events.map(\.version)), .texts(events.map(\.traceparent)),
        .times(events.map(\.time)), .bytes(events.map(\.body)),
      ])
  }

  /// Takes events out of the outbox that the broker has confirmed.
  public static func confirmed(_ ids: [String]) -> PostgresQuery {
    PostgresQuery(OutboxRow.delete, [.texts(Set(ids.map(\.exact)).sorted().map(\.text))])
  }

  /// Reads events by their ids. ``init(_:from:)`` reads each row. An unknown id has no row.
  public static func read(_ ids: [String]) -> PostgresQuery { PostgresQuery(.readEvents, [.texts(ids)]) }

  /// Reads a row of ``read(_:)``.
  ///
  /// - Parameter start: the number of the first column.
  public init(_ row: PostgresRow, from start: Int = 0) {
    self.init(
      id: row.text(start) ?? "", publisherId: row.int64(start + 1) ?? 0, customerId: row.text(start + 2),
      topic: row.text(start + 3) ?? "", version: row.int64(start + 4), traceparent: row.text(start + 5),
      time: row.time(start + 6) ?? 0, body: row.bytes(start + 7) ?? [])
  }

  /// The columns in the order in which ``init(_:from:)`` reads them.
  static let columns = names.joined(separator: ", ")

  /// The columns of a row of `table`.
  static func columns(_ table: String) -> String { names.map { "\(table).\($0)" }.joined(separator: ", ") }

  private static let names = ["id", "publisher_id", "customer_id", "topic", "version", "traceparent", "time", "body"]

  /// In the order of the ids and each id once, so that two commits lock rows in one order.
  private static func sorted(_ events: [Event]) -> [Event] {
    if events.count < 2 { return events }
    var known: [ExactText: Event] = [:]
    for event in events where known[event.id.exact] == nil { known[event.id.exact] = event }
    return known.sorted { $0.key < $1.key }.map(\.value)
  }
}

extension PostgresStatement {
  /// An event about an erased customer, or about a purchase of nobody's, has no customer here. It may name a person all
  /// the same, whom nobody could erase. So it goes as soon as nobody is owed it. The topics in the list name nobody.
  fileprivate static let insertEvents = PostgresStatement(
    "insert events",
    """
    INSERT INTO events (\(Event.columns), erased)
    SELECT n.*, n.customer_id IS NULL AND n.topic NOT IN ('\(EventTopic.webhookEndpointDisabled)',
        '\(EventTopic.externalPurchaseTokenDue)', '\(EventTopic.test)')
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::timestamptz[],
      $8::bytea[]) AS n (\(Event.columns))
    ON CONFLICT (id) DO NOTHING
    """)

  fileprivate static let readEvents = PostgresStatement(
    "read events", "SELECT \(Event.columns) FROM events WHERE id = ANY($1)")
}

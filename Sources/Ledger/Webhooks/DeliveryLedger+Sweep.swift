public import Domain
import EventLoop
import Postgres

/// Deliveries that no queue seems to hold.
public struct OverdueDeliveries: Sendable, Equatable {
  public var deliveries: [Delivery] = []
  /// How many deliveries the ledger has dropped, because it does not keep their events any more.
  public var lost = 0

  /// Whether there may be more.
  public var isFull = false

  /// Creates an empty list.
  public init() {}
}

extension DeliveryLedger {
  /// Takes deliveries whose time has passed for so long, the oldest first.
  ///
  /// Their time moves to now. So another notifier does not take them, and the next look comes as late again.
  public func overdue(by time: Duration, limit: Int) async throws -> OverdueDeliveries {
    let rows = try await postgres.run(
      PostgresQuery(.takeOverdue, [.int64(Int64(time.wholeMilliseconds)), .int64(Int64(limit))]))
    var overdue = OverdueDeliveries()
    overdue.isFull = rows.count == limit
    var lost: [PostgresRow] = []
    let events = try rows.isEmpty ? nil : EventRow.table.reader(of: rows)
    for row in rows {
      let endpoint = try row.id("endpoint_id") ?? EndpointId.unknown
      guard var delivery = try Self.delivery(row, events, to: endpoint) else {
        lost.append(row)
        continue
      }
      delivery.attempt = Int(try row.int64("attempt") ?? 1)
      overdue.deliveries.append(delivery)
    }
    if !lost.isEmpty {
      _ = try await postgres.run(
        PostgresQuery(
          .dropDeliveries,
          [
            .texts(try lost.map { try $0.text("event_id") }), .texts(try lost.map { try $0.text("endpoint_id") }),
            .texts(try lost.map { try $0.text("round") }),
          ]))
    }
    overdue.lost = lost.count
    return overdue
  }
}

extension DeliveryLedger {
  /// A notification has no event. The notifier finds out whether the ledger still has it.
  private static func delivery(
    _ row: PostgresRow, _ events: TableReader<EventRow>?, to endpoint: EndpointId
  ) throws -> Delivery? {
    if let notification = Delivery.notification(named: try row.id("event_id") ?? EventId("")) {
      return Delivery(notification, to: endpoint)
    }
    guard try row.text("id") != nil, let event = try events?.record(row).event else { return nil }
    return try? Delivery(
      event, endpointId: endpoint == .unknown ? nil : endpoint, round: try row.id("round") ?? .first)
  }
}

extension PostgresStatement {
  fileprivate static let takeOverdue = PostgresStatement(
    "take overdue deliveries",
    """
    WITH due AS (
      SELECT event_id, endpoint_id, round FROM deliveries
      WHERE due_at < now() - $1::bigint * interval '1 millisecond'
      ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED),
    moved AS (
      UPDATE deliveries AS kept SET due_at = now() FROM due
      WHERE kept.event_id = due.event_id AND kept.endpoint_id = due.endpoint_id AND kept.round = due.round
      RETURNING kept.event_id, kept.endpoint_id, kept.round, kept.attempt)
    SELECT moved.event_id, moved.endpoint_id, moved.round, moved.attempt,
      \(EventRow.table.selected("events"))
    FROM moved LEFT JOIN events ON events.id = moved.event_id
    """)

  fileprivate static let dropDeliveries = PostgresStatement(
    "drop deliveries",
    """
    DELETE FROM deliveries AS kept USING unnest($1::text[], $2::text[], $3::text[]) AS lost (event, endpoint, round)
    WHERE kept.event_id = lost.event AND kept.endpoint_id = lost.endpoint AND kept.round = lost.round
    """)
}

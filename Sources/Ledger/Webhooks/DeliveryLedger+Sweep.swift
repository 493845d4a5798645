import Domain
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
    let rows = try await client.run(
      PostgresQuery(.takeOverdue, [.int64(Int64(time.wholeMilliseconds)), .int64(Int64(limit))]))
    var overdue = OverdueDeliveries()
    overdue.isFull = rows.count == limit
    var lost: [PostgresRow] = []
    for row in rows {
      let endpoint = row.text(1) ?? ""
      guard var delivery = Self.delivery(row, to: endpoint) else {
        lost.append(row)
        continue
      }
      delivery.attempt = Int(row.int64(3) ?? 1)
      overdue.deliveries.append(delivery)
    }
    if !lost.isEmpty {
      _ = try await client.run(
        PostgresQuery(
          .dropDeliveries,
          [.texts(lost.map { $0.text(0) }), .texts(lost.map { $0.text(1) }), .texts(lost.map { $0.text(2) })]))
    }
    overdue.lost = lost.count
    return overdue
  }
}

extension DeliveryLedger {
  /// A notification has no event. The notifier finds out whether the ledger still has it.
  private static func delivery(_ row: PostgresRow, to endpoint: String) -> Delivery? {
    if let notification = Delivery.notification(named: row.text(0) ?? "") {
      return Delivery(notification, to: endpoint)
    }
    guard row.text(4) != nil else { return nil }
    return try? Delivery(
      Event(row, from: 4), endpointId: endpoint.isEmpty ? nil : endpoint, round: row.text(2) ?? "")
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
      events.id, events.publisher_id, customer_id, topic, version, traceparent, time, body
    FROM moved LEFT JOIN events ON events.id = moved.event_id
    """)

  fileprivate static let dropDeliveries = PostgresStatement(
    "drop deliveries",
    """
    DELETE FROM deliveries AS kept USING unnest($1::text[], $2::text[], $3::text[]) AS lost (event, endpoint, round)
    WHERE kept.event_id = lost.event AND kept.endpoint_id = lost.endpoint AND kept.round = lost.round
    """)
}

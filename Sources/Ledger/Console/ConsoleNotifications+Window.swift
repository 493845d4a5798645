import Domain
import Postgres

extension ConsoleNotifications {
  /// No index tells these apart. So a page looks through a bounded number of the newest notifications, whatever it
  /// finds, and says where the next page goes on.
  public nonisolated static let window = 10_000

  /// How many notifications of each publisher a page looks through: fewer, if it shows more publishers.
  nonisolated static func window(of publishers: Int, _ whole: Int) -> Int {
    max(min(100, whole), whole / max(1, publishers))
  }

  func windowed(
    _ statement: PostgresStatement, of publishers: [PublisherId], before start: ConsolePlace, limit: Int,
    window: Int, within time: Duration
  ) async throws -> ConsoleRows<ConsoleNotification> {
    let query = PostgresQuery(
      statement,
      [
        .ids(publishers), .int64(start.microseconds), .id(start.publisherId), .text(start.id),
        .int64(Int64(window)), .int64(Int64(limit) + 1),
      ])
    let rows = try await postgres.limited(to: time, [query])[0]
    var (found, places): ([ConsoleNotification], [ConsolePlace]) = ([], [])
    for row in rows where try row.text("uuid") != nil {
      found.append(try ConsoleNotification(row))
      places.append(
        ConsolePlace(try row.int64("place") ?? 0, found.last?.publisherId ?? 0, found.last?.uuid.text ?? ""))
    }
    guard found.count <= limit else { return ConsoleRows(Array(found.prefix(limit)), next: places[limit - 1]) }
    guard let row = rows.first, let last = try row.text("last_uuid"), try row.int64("looked") == Int64(window) else {
      return ConsoleRows(found)
    }
    return ConsoleRows(
      found, next: ConsolePlace(try row.int64("last_place") ?? 0, try row.id("last_publisher") ?? 0, last))
  }
}

extension PostgresStatement {
  static let listConsoleStale = windowed(
    "console: list stale notifications", "n.put_aside_at IS NULL AND n.applied_at IS NOT NULL AND n.is_news = false")

  static let listConsoleUnclaimedNotifications = windowed(
    "console: list unclaimed notifications",
    """
    n.put_aside_at IS NULL AND n.applied_at IS NOT NULL AND n.is_news IS DISTINCT FROM false
      AND p.publisher_id IS NOT NULL AND p.customer_id IS NULL
    """)

  static let listConsoleFromHistory = windowed("console: list notifications of history", "n.source <> 'apple'")

  /// It has one row at least: how much it has looked through, and how far.
  private static func windowed(_ name: String, _ condition: String) -> PostgresStatement {
    PostgresStatement(
      name,
      """
      WITH part AS MATERIALIZED (
        SELECT n.*, \(consolePlace("n.received_at")) AS place FROM unnest($1::bigint[]) AS u (id) CROSS JOIN LATERAL (
          SELECT publisher_id, uuid, type, subtype, environment, bundle_id, original_transaction_id, signed_date,
            received_at, source, applied_at, is_news, put_aside_at, put_aside_reason FROM notifications
          WHERE publisher_id = u.id AND received_at <= \(consoleTime("$2"))
            AND (received_at, publisher_id, uuid) < (\(consoleTime("$2")), $3::bigint, $4::text)
          ORDER BY received_at DESC, uuid DESC LIMIT $5) n
        ORDER BY n.received_at DESC, n.publisher_id DESC, n.uuid DESC LIMIT $5)
      SELECT whole.looked, last.place AS last_place, last.publisher_id AS last_publisher, last.uuid AS last_uuid, found.*
      FROM (SELECT count(*) AS looked FROM part) whole
        LEFT JOIN (
          SELECT place, publisher_id, uuid FROM part ORDER BY received_at, publisher_id, uuid LIMIT 1) last ON true
        LEFT JOIN (
          SELECT \(ConsoleNotification.columns), n.place FROM part n \(ConsoleNotification.withPurchase)
          WHERE \(condition)
          ORDER BY n.received_at DESC, n.publisher_id DESC, n.uuid DESC LIMIT $6) found ON true
      ORDER BY found.received_at DESC, found.publisher_id DESC, found.uuid DESC
      """)
  }
}

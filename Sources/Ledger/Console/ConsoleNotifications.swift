import Domain
public import EventLoop
import Formats
public import Postgres

/// Reads Apple's notifications, for the console.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct ConsoleNotifications {
  private let postgres: PostgresClient

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Which notifications a list has, and in which order.
  public enum Choice: String, Sendable, CaseIterable {
    /// The newest first.
    case all = ""
    /// The next to be tried first.
    case waiting
    /// The oldest first.
    case putAside = "aside"
  }

  /// How far one page looks back, in milliseconds. Only a coarse index knows when a notification came, so a page looks
  /// at an hour first, and at more if it is not full.
  nonisolated static let windows: [Int64] = [3_600_000, 86_400_000, 7 * 86_400_000]

  /// Reads a page of a list. The number of a place is a time in microseconds.
  ///
  /// A page with few rows, or none, may have a next one: what came before the week that it has looked at.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - end: what is not read until then is not looked at.
  public func page(
    _ choice: Choice, of publishers: [Int64], after: ConsolePlace?, limit: Int, now: Int64,
    until end: ContinuousClock.Instant
  ) async throws -> ConsoleRows<ConsoleNotification> {
    guard !publishers.isEmpty else { return ConsoleRows() }
    if choice == .all { return try await newest(of: publishers, after: after, limit: limit, now: now, until: end) }
    let place: [PostgresParameter] = [
      .int64s(publishers), .int64(after?.microseconds ?? 0), .int64(after?.publisherId ?? .min), .text(after?.id ?? ""),
      .int64(Int64(limit) + 1),
    ]
    let statement: PostgresStatement = choice == .waiting ? .listConsoleWaiting : .listConsolePutAside
    return try Self.page(await postgres.limited(to: rest(until: end), [PostgresQuery(statement, place)])[0], limit)
  }

  private func newest(
    of publishers: [Int64], after: ConsolePlace?, limit: Int, now: Int64, until end: ContinuousClock.Instant
  ) async throws -> ConsoleRows<ConsoleNotification> {
    // The clock of PostgreSQL may be ahead of this one.
    let start = after ?? ConsolePlace(now.adding(3_600_000) * 1000, .max, "")
    var found: ConsoleRows<ConsoleNotification>?
    for window in Self.windows {
      let from = (after.map { $0.microseconds / 1000 } ?? now).subtracting(window)
      let query = PostgresQuery(
        .listConsoleNewest,
        [
          .int64s(publishers), .int64(start.microseconds), .int64(start.publisherId), .text(start.id),
          .int64(Int64(limit) + 1), .time(from),
        ])
      do {
        let page = try Self.page(await postgres.limited(to: rest(until: end), [query])[0], limit)
        if page.next != nil { return page }
        // Nothing is older than 1970.
        found = ConsoleRows(page.rows, next: from > 0 ? ConsolePlace(from * 1000, .min, "") : nil)
      } catch {
        guard let found else { throw error }
        return found
      }
    }
    guard let found, let next = found.next else { return ConsoleRows() }
    let query = PostgresQuery(.hasConsoleOlder, [.int64s(publishers), .time(next.number / 1000)])
    // If nobody can say soon, the way on stays.
    let older = try? await postgres.limited(to: .milliseconds(200), [query])[0].first?.bool("has_older")
    return older == false ? ConsoleRows(found.rows) : found
  }

  /// Reads one; `nil` if there is none, or none any more.
  public func notification(_ publisher: Int64, _ uuid: String) async throws -> ConsoleNotification? {
    let rows = try await postgres.run(PostgresQuery(.readConsoleNotification, [.int64(publisher), .text(uuid)]))
    return try rows.first.map(ConsoleNotification.init)
  }

  private func rest(until end: ContinuousClock.Instant) -> Duration { ContinuousClock.now.duration(to: end) }

  private static func page(_ rows: PostgresRows, _ limit: Int) throws -> ConsoleRows<ConsoleNotification> {
    try ConsoleRows(rows, limit: limit, id: "uuid", ConsoleNotification.init)
  }
}

extension PostgresStatement {
  private static let selected = "SELECT \(ConsoleNotification.columns)"

  /// The two conditions on the time let PostgreSQL use the index of blocks.
  fileprivate static let listConsoleNewest = PostgresStatement(
    "console: list newest notifications",
    """
    \(selected), \(consolePlace("n.received_at")) AS place FROM (
      SELECT * FROM notifications
      WHERE publisher_id = ANY($1::bigint[]) AND received_at <= \(consoleTime("$2")) AND received_at >= $6::timestamptz
        AND (received_at, publisher_id, uuid) < (\(consoleTime("$2")), $3::bigint, $4::text)
      ORDER BY received_at DESC, publisher_id DESC, uuid DESC LIMIT $5) n
    \(ConsoleNotification.withPurchase)
    ORDER BY n.received_at DESC, n.publisher_id DESC, n.uuid DESC
    """)

  fileprivate static let hasConsoleOlder = PostgresStatement(
    "console: has older notifications",
    """
    SELECT EXISTS (
      SELECT 1 FROM notifications WHERE publisher_id = ANY($1::bigint[]) AND received_at < $2::timestamptz) AS has_older
    """)

  fileprivate static let listConsoleWaiting = PostgresStatement(
    "console: list waiting notifications",
    """
    \(selected), \(consolePlace("n.due_at")) AS place FROM unnest($1::bigint[]) AS u (id) CROSS JOIN LATERAL (
      SELECT * FROM notifications
      WHERE publisher_id = u.id AND due_at >= \(consoleTime("$2")) AND isfinite(due_at)
        AND (due_at, publisher_id, uuid) > (\(consoleTime("$2")), $3::bigint, $4::text)
      ORDER BY due_at, publisher_id, uuid LIMIT $5) n
    \(ConsoleNotification.withPurchase)
    ORDER BY n.due_at, n.publisher_id, n.uuid LIMIT $5
    """)

  fileprivate static let listConsolePutAside = PostgresStatement(
    "console: list notifications put aside",
    """
    \(selected), \(consolePlace("n.put_aside_at")) AS place FROM notifications n
    \(ConsoleNotification.withPurchase)
    WHERE n.publisher_id = ANY($1::bigint[]) AND n.put_aside_at >= \(consoleTime("$2"))
      AND (n.put_aside_at, n.publisher_id, n.uuid) > (\(consoleTime("$2")), $3::bigint, $4::text)
    ORDER BY n.put_aside_at, n.publisher_id, n.uuid LIMIT $5
    """)

  fileprivate static let readConsoleNotification = PostgresStatement(
    "console: read notification", isByKeys: true,
    """
    \(selected) FROM notifications n \(ConsoleNotification.withPurchase) WHERE n.publisher_id = $1 AND n.uuid = $2
    """)
}

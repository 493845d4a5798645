public import Domain
public import EventLoop
public import Postgres

/// Reads Apple's notifications, for the console.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct ConsoleNotifications {
  let postgres: PostgresClient

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
    /// Those that changed nothing, the newest first.
    case stale
    /// Those that are applied, and whose purchase nobody owns, the newest first.
    case unclaimed
    /// Those that no post brought, the newest first.
    case history
  }

  /// Reads a page of a list. The number of a place is a time in microseconds.
  ///
  /// - Parameters:
  ///   - end: what is not read until then fails.
  ///   - window: see ``window``; a test takes a small one.
  public func page(
    _ choice: Choice, of publishers: [PublisherId], after: ConsolePlace?, limit: Int,
    until end: ContinuousClock.Instant,
    window: Int = ConsoleNotifications.window
  ) async throws -> ConsoleRows<ConsoleNotification> {
    guard !publishers.isEmpty else { return ConsoleRows() }
    let isNewestFirst = choice != .waiting && choice != .putAside
    let start =
      after ?? (isNewestFirst ? ConsolePlace(.max, PublisherId(.max), "") : ConsolePlace(0, PublisherId(.min), ""))
    let rest = ContinuousClock.now.duration(to: end)
    let place: [PostgresParameter] = [
      .ids(publishers), .int64(start.microseconds), .id(start.publisherId), .text(start.id),
      .int64(Int64(limit) + 1),
    ]
    let statement: PostgresStatement
    switch choice {
    case .all: statement = .listConsoleNewest
    case .waiting: statement = .listConsoleWaiting
    case .putAside: statement = .listConsolePutAside
    case .stale, .unclaimed, .history:
      let windowed: PostgresStatement =
        choice == .stale
        ? .listConsoleStale : choice == .history ? .listConsoleFromHistory : .listConsoleUnclaimedNotifications
      return try await self.windowed(
        windowed, of: publishers, before: start, limit: limit, window: Self.window(of: publishers.count, window),
        within: rest)
    }
    let rows = try await postgres.limited(to: rest, [PostgresQuery(statement, place)])[0]
    return try ConsoleRows(rows, limit: limit, id: "uuid", ConsoleNotification.init)
  }

  /// Reads one; `nil` if there is none, or none any more.
  public func notification(_ key: NotificationKey) async throws -> ConsoleNotification? {
    let rows = try await postgres.run(
      PostgresQuery(.readConsoleNotification, [.id(key.publisherId), .id(key.uuid)]))
    return try rows.first.map(ConsoleNotification.init)
  }
}

extension PostgresStatement {
  private static let selected = "SELECT \(ConsoleNotification.columns)"

  /// Each publisher's newest come from the index `notifications_page`.
  static let listConsoleNewest = PostgresStatement(
    "console: list newest notifications",
    """
    \(selected), \(consolePlace("n.received_at")) AS place FROM unnest($1::bigint[]) AS u (id) CROSS JOIN LATERAL (
      SELECT * FROM notifications
      WHERE publisher_id = u.id AND received_at <= \(consoleTime("$2"))
        AND (received_at, publisher_id, uuid) < (\(consoleTime("$2")), $3::bigint, $4::text)
      ORDER BY received_at DESC, uuid DESC LIMIT $5) n
    \(ConsoleNotification.withPurchase)
    ORDER BY n.received_at DESC, n.publisher_id DESC, n.uuid DESC LIMIT $5
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

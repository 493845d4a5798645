public import Domain
public import EventLoop
public import Postgres

/// Reads synchronizations, for the console: the waiting ones in the ledger, and all with one id.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct ConsoleSynchronizations {
  private let postgres: PostgresClient
  private let doors: DoorCatalog

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient, doors: DoorCatalog) { (self.postgres, self.doors) = (postgres, doors) }

  /// Reads a page of the waiting ones in the ledger, the next to run first. The number of a place is the time of the
  /// next run in microseconds.
  ///
  /// A page with few rows, or none, may have a next one: those behind the ones that it has looked at.
  ///
  /// - Parameter window: how many it looks at, of whichever publishers: only the times of the next runs have an index.
  public func waiting(
    of publishers: [PublisherId], after: ConsolePlace?, limit: Int, window: Int64 = 5000
  ) async throws -> ConsoleRows<ConsoleSynchronization> {
    guard !publishers.isEmpty else { return ConsoleRows() }
    let start = PostgresParameter.int64(after?.microseconds ?? 0)
    let rows = try await postgres.run([
      PostgresQuery(
        .listConsoleSynchronizations,
        [
          .ids(publishers), start, .int64(after?.publisherId.number ?? .min), .text(after?.id ?? ""),
          .int64(Int64(limit) + 1), .int64(window),
        ]), PostgresQuery(.readConsoleSynchronizationsEnd, [start, .int64(window - 1)]),
    ])
    let page = try ConsoleRows(rows[0], limit: limit, id: "id") {
      try ConsoleSynchronization($0, doors: doors, isInList: true)
    }
    guard page.next == nil, let end = try rows[1].first?.int64("place") else { return page }
    // Each page gets further, however many have one time.
    return ConsoleRows(page.rows, next: ConsolePlace(max(end, (after?.microseconds ?? 0) + 1), PublisherId(.min), ""))
  }

  /// Reads those with an id: one, unless a client has used the id for several transactions.
  public func synchronizations(_ publisher: PublisherId, _ id: SynchronizationId) async throws
    -> [ConsoleSynchronization]
  {
    let rows = try await postgres.run(PostgresQuery(.readConsoleSynchronization, [.id(publisher), .id(id)]))
    return try rows.map { try ConsoleSynchronization($0, doors: doors) }
  }
}

extension PostgresStatement {
  private static let columns = """
    s.publisher_id, s.id, s.transaction_id, s.customer_id, s.kind, s.job, s.due_at, s.finalized_at, s.result, s.event_id,
      t.environment, t.original_transaction_id
    """

  private static let withPurchase = """
    LEFT JOIN LATERAL (
      SELECT environment, original_transaction_id FROM transactions
      WHERE publisher_id = s.publisher_id AND transaction_id = s.transaction_id ORDER BY environment LIMIT 1) t ON true
    """

  fileprivate static let listConsoleSynchronizations = PostgresStatement(
    "console: list synchronizations",
    """
    SELECT \(columns), \(consolePlace("s.due_at")) AS place FROM (
      SELECT * FROM (
        SELECT * FROM synchronizations
        WHERE status <> 'finalized' AND due_at >= \(consoleTime("$2")) AND isfinite(due_at)
        ORDER BY due_at LIMIT $6) AS looked
      WHERE publisher_id = ANY($1::bigint[])
        AND (due_at, publisher_id, id) > (\(consoleTime("$2")), $3::bigint, $4::text)
      ORDER BY due_at, publisher_id, id LIMIT $5) s
    \(withPurchase)
    ORDER BY s.due_at, s.publisher_id, s.id
    """)

  fileprivate static let readConsoleSynchronizationsEnd = PostgresStatement(
    "console: read end of synchronizations",
    """
    SELECT \(consolePlace("due_at")) AS place FROM synchronizations
    WHERE status <> 'finalized' AND due_at >= \(consoleTime("$1")) AND isfinite(due_at)
    ORDER BY due_at OFFSET $2 LIMIT 1
    """)

  fileprivate static let readConsoleSynchronization = PostgresStatement(
    "console: read synchronization", isByKeys: true,
    """
    SELECT \(columns) FROM synchronizations s \(withPurchase) WHERE s.publisher_id = $1 AND s.id = $2
    ORDER BY s.finalized_at DESC NULLS FIRST LIMIT 20
    """)
}

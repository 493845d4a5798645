public import Domain
public import EventLoop
public import Postgres

/// Reads the refund requests of several publishers, for the console.
@LoopActor
public struct ConsoleRefunds {
  private let postgres: PostgresClient

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Reads a page of requests that somebody must answer still, the nearest deadline first.
  ///
  /// - Throws: `PostgresError`, or `UnreadableRecord` for a row that this code cannot read.
  public func pending(
    of publishers: [PublisherId], after place: ConsolePlace?, limit: Int
  ) async throws -> ConsoleRows<RefundRequest> {
    let place = place ?? ConsolePlace(.min, 0, "")
    return try await page(.listConsolePendingRefunds, publishers, [], place, limit)
  }

  /// Reads a page of requests that are over, the latest deadline first.
  ///
  /// - Throws: as ``pending(of:after:limit:)``.
  public func requests(
    of publishers: [PublisherId], in state: RefundRequest.State, after place: ConsolePlace?, limit: Int
  ) async throws -> ConsoleRows<RefundRequest> {
    let place = place ?? ConsolePlace(.max, PublisherId(.max), "")
    return try await page(.listConsoleRefunds, publishers, [.text(state.rawValue)], place, limit)
  }

  /// Reads the requests about transactions of a purchase, the latest deadline first. The index knows transactions only.
  ///
  /// - Throws: as ``pending(of:after:limit:)``.
  public func requests(
    about purchase: PurchaseKey, _ transactions: [TransactionId], limit: Int
  ) async throws -> [RefundRequest] {
    let rows = try await postgres.run(
      PostgresQuery(
        .listConsoleRefundsOfPurchase,
        [
          .id(purchase.publisherId), .id(purchase.environment), .ids(transactions), .int64(Int64(limit)),
        ]))
    return try RefundRequestRow.table.records(rows)
  }

  private func page(
    _ statement: PostgresStatement, _ publishers: [PublisherId], _ more: [PostgresParameter], _ place: ConsolePlace,
    _ limit: Int
  ) async throws -> ConsoleRows<RefundRequest> {
    guard !publishers.isEmpty else { return ConsoleRows() }
    let parameters: [PostgresParameter] = [
      .ids(publishers), .time(place.time), .id(place.publisherId), .text(place.id), .int64(Int64(limit) + 1),
    ]
    let rows = try await postgres.run(PostgresQuery(statement, parameters + more))
    return ConsoleRows(try RefundRequestRow.table.records(rows), limit: limit) { request in
      ConsolePlace(request.deadline, request.purchase.publisherId, request.id.text)
    }
  }
}

extension PostgresStatement {
  /// Each publisher has its part of the index, so each costs a look and at most a page of rows.
  fileprivate static let listConsolePendingRefunds = PostgresStatement(
    "console: list pending refund requests",
    """
    SELECT \(RefundRequestRow.table.selected("r")) FROM unnest($1::bigint[]) AS seen (id) CROSS JOIN LATERAL (
      SELECT * FROM refund_requests
      WHERE publisher_id = seen.id AND state IN ('open', 'sending') AND deadline >= $2
        AND (deadline, publisher_id, id) > ($2, $3, $4)
      ORDER BY deadline, id LIMIT $5) r
    ORDER BY r.deadline, r.publisher_id, r.id LIMIT $5
    """)

  fileprivate static let listConsoleRefundsOfPurchase = PostgresStatement(
    "console: list refund requests of a purchase",
    """
    SELECT \(RefundRequestRow.table.selected("r")) FROM refund_requests r
    WHERE publisher_id = $1 AND environment = $2 AND transaction_id = ANY ($3::text[])
    ORDER BY deadline DESC, id DESC LIMIT $4
    """)

  fileprivate static let listConsoleRefunds = PostgresStatement(
    "console: list refund requests",
    """
    SELECT \(RefundRequestRow.table.selected("r")) FROM unnest($1::bigint[]) AS seen (id) CROSS JOIN LATERAL (
      SELECT * FROM refund_requests
      WHERE publisher_id = seen.id AND state = $6 AND deadline <= $2
        AND (deadline, publisher_id, id) < ($2, $3, $4)
      ORDER BY deadline DESC, id DESC LIMIT $5) r
    ORDER BY r.deadline DESC, r.publisher_id DESC, r.id DESC LIMIT $5
    """)
}

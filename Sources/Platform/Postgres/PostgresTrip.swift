import EventLoop

/// Queries that go to the server together, with one Sync behind them. They succeed or fail together.
@LoopActor
final class PostgresTrip {
  let queries: [PostgresQuery]
  /// Whether the trip is a whole transaction. Then the connection may send it again after a failure.
  let isWhole: Bool
  /// Whether the connection has sent it again.
  private(set) var isSecondTry = false
  /// The first failure.
  private(set) var failure: PostgresError?
  private var results: [PostgresRows] = []
  private var waiter: CheckedContinuation<[PostgresRows], any Error>?

  init(_ queries: [PostgresQuery], isWhole: Bool, _ waiter: CheckedContinuation<[PostgresRows], any Error>) {
    self.queries = queries
    self.isWhole = isWhole
    self.waiter = waiter
    results.reserveCapacity(queries.count)
  }

  /// The name of the query whose result comes next.
  var operation: String { results.count < queries.count ? queries[results.count].statement.name : "commit" }

  /// Takes the result of the next query.
  func received(_ rows: PostgresRows) { results.append(rows) }

  /// Notes a failure. Only the first one counts, since PostgreSQL skips the rest.
  func failed(_ error: PostgresError) { if failure == nil { failure = error } }

  /// Forgets what came, to be sent again.
  func beginAgain() {
    isSecondTry = true
    failure = nil
    results.removeAll(keepingCapacity: true)
  }

  /// Ends the trip, because its Sync was answered.
  func end() {
    if let failure { waiter?.resume(throwing: failure) } else { waiter?.resume(returning: results) }
    waiter = nil
  }

  /// Ends the trip with an error.
  func end(throwing error: PostgresError) {
    waiter?.resume(throwing: error)
    waiter = nil
  }
}

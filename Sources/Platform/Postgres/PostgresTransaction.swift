public import EventLoop

/// A transaction of several trips. Only the body of ``PostgresClient/transaction(_:)`` may use it.
///
/// Each trip ends with a Sync, so that the server knows that it waits for the client. Then it rolls back after
/// `idle_in_transaction_session_timeout` if the client stands still, and its locks do not hold up others.
@LoopActor
public final class PostgresTransaction {
  private let connection: PostgresConnection
  private var state = State.unused
  private var keepsPlans = false

  private enum State {
    case unused
    case open
    /// PostgreSQL takes no more queries.
    case failed(any Error)
    case over
  }

  private static let begin = PostgresQuery(PostgresStatement("begin", "BEGIN"))
  private static let commit = PostgresQuery(PostgresStatement("commit", "COMMIT"))
  private static let rollback = PostgresQuery(PostgresStatement("rollback", "ROLLBACK"))

  init(_ connection: PostgresConnection) { self.connection = connection }

  /// Runs queries in one trip.
  ///
  /// - Throws: ``PostgresError``. The transaction can then only roll back.
  public func query(_ queries: [PostgresQuery]) async throws -> [PostgresRows] {
    Array(try await send(queries, commit: false))
  }

  /// Runs one query.
  ///
  /// - Throws: ``PostgresError``. The transaction can then only roll back.
  public func query(_ query: PostgresQuery) async throws -> PostgresRows { try await self.query([query])[0] }

  /// Runs the last queries and commits in the same trip. The transaction is over then.
  ///
  /// It saves a trip, and the locks end that much earlier.
  ///
  /// - Throws: ``PostgresError``. Then the transaction has not committed, or the connection was lost.
  public func commit(_ queries: [PostgresQuery]) async throws -> [PostgresRows] {
    let results = try await send(queries, commit: true)
    try finish(results[results.endIndex - 1])
    return Array(results.dropLast())
  }

  private func send(_ queries: [PostgresQuery], commit: Bool) async throws -> ArraySlice<PostgresRows> {
    var first: [PostgresQuery] = []
    switch state {
    case .open: break
    case .unused:
      first = [Self.begin]
      state = .open
    case .failed(let error): throw error
    case .over:
      throw PostgresError(
        .closed, operation: "query", target: connection.target, cause: "the transaction is over")
    }
    if !keepsPlans, queries.contains(where: \.statement.isByKeys) {
      keepsPlans = true
      first.append(.keepPlans)
    }
    do {
      return try await connection.run(first + queries + (commit ? [Self.commit] : []))[first.count...]
    } catch {
      state = .failed(error)
      throw error
    }
  }

  /// Commits, unless the body has.
  func end() async throws {
    switch state {
    case .open: _ = try await commit([])
    case .failed(let error): throw error
    case .unused, .over: break
    }
  }

  private func finish(_ commit: PostgresRows) throws {
    state = .over
    guard commit.result.command != "COMMIT" else { return }
    // A transaction that has failed answers COMMIT with ROLLBACK.
    throw PostgresError(
      .server(sqlState: "25P02"), operation: "commit", target: connection.target, cause: "it was rolled back")
  }

  /// Rolls back, unless the transaction is over.
  ///
  /// A connection that has ended has rolled back too.
  func rollBack() async {
    switch state {
    case .unused, .over: return
    case .open, .failed: break
    }
    state = .over
    guard connection.failure == nil else { return }
    do {
      _ = try await connection.run([Self.rollback])
    } catch {
      connection.close(.connectionLost, because: "the rollback failed: \(error)")
    }
  }
}

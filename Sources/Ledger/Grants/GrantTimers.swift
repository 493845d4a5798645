public import Domain
public import EventLoop
public import Postgres

/// The ends of grants: the column `due_at` of each open one. A worker that takes a due one moves it forward, so nobody
/// else has it for a while. If that worker dies, another one takes it then.
@LoopActor
public struct GrantTimers {
  private let postgres: PostgresClient

  /// For so long nobody else ends a grant that a worker has taken.
  public nonisolated static let lease = Duration.seconds(30)

  /// Creates the timers of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Takes grants whose end is due, of each publisher those that wait longest.
  ///
  /// - Parameters:
  ///   - shares: the publishers, in the order in which they get their turn.
  ///   - limit: the most grants of all.
  ///   - unreadable: gets the error of each grant that this process cannot read. It is due again after its lease.
  /// - Throws: `PostgresError`.
  public func takeDue(
    _ shares: [PublisherShare], limit: Int, unreadable: (any Error) -> Void
  ) async throws -> [Grant] {
    guard limit > 0, !shares.isEmpty else { return [] }
    let rows = try await postgres.run(
      PostgresQuery(
        .takeDueGrants, shares.parameters + [.int64(Int64(limit)), .int64(Int64(Self.lease / .milliseconds(1)))]))
    if rows.isEmpty { return [] }
    let reader = try GrantRow.table.reader(of: rows)
    return rows.readable(unreadable: unreadable) { try reader.record($0).grant }
  }
}

extension PostgresStatement {
  /// Only the grant's row is locked, and no customer. A commit that ends the grant locks the customer first, and
  /// waits for this statement only while it runs.
  fileprivate static let takeDueGrants = PostgresStatement(
    "take due grants",
    """
    WITH due AS (
      SELECT d.* FROM unnest($1::bigint[], $2::bigint[]) AS a (publisher_id, most)
        CROSS JOIN LATERAL (
          SELECT q.publisher_id, q.id FROM grants q WHERE q.publisher_id = a.publisher_id AND q.due_at <= now()
          ORDER BY q.due_at LIMIT a.most FOR NO KEY UPDATE SKIP LOCKED) d
      LIMIT $3)
    UPDATE grants g SET due_at = now() + $4 * interval '1 millisecond' FROM due
    WHERE g.publisher_id = due.publisher_id AND g.id = due.id
    RETURNING \(GrantRow.table.selected("g"))
    """)
}

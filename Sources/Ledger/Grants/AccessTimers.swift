public import Domain
public import EventLoop
public import Postgres

/// The ends of access by hand: the column `due_at` of each open row. A worker that takes a due one moves it forward, so
/// nobody else has it for a while. If that worker dies, another one takes it then.
@LoopActor
public struct AccessTimers<Ending: EndingAccess> {
  private let postgres: PostgresClient
  private let take: PostgresStatement
  /// Reads the taken rows, each by itself.
  private let readable: (PostgresRows, (any Error) -> Void) throws -> [Ending]

  private init(
    _ postgres: PostgresClient, _ take: PostgresStatement,
    _ readable: @escaping (PostgresRows, (any Error) -> Void) throws -> [Ending]
  ) {
    (self.postgres, self.take, self.readable) = (postgres, take, readable)
  }

  /// For so long nobody else ends what a worker has taken.
  public nonisolated static var lease: Duration { .seconds(30) }

  /// Takes what is due, of each publisher that which waits longest.
  ///
  /// - Parameters:
  ///   - shares: the publishers, in the order in which they get their turn.
  ///   - limit: the most rows of all.
  ///   - unreadable: gets the error of each row that this process cannot read. It is due again after its lease.
  /// - Throws: `PostgresError`.
  public func takeDue(
    _ shares: [PublisherShare], limit: Int, unreadable: (any Error) -> Void
  ) async throws -> [Ending] {
    guard limit > 0, !shares.isEmpty else { return [] }
    let rows = try await postgres.run(
      PostgresQuery(take, shares.parameters + [.int64(Int64(limit)), .int64(Int64(Self.lease / .milliseconds(1)))]))
    return rows.isEmpty ? [] : try readable(rows, unreadable)
  }
}

extension AccessTimers where Ending == Grant {
  /// Creates the timers of a ledger's grants.
  public init(_ postgres: PostgresClient) {
    self.init(postgres, .takeDueGrants) { rows, unreadable in
      let reader = try GrantRow.table.reader(of: rows)
      return rows.readable(unreadable: unreadable) { try reader.record($0).grant }
    }
  }
}

extension AccessTimers where Ending == SandboxOverride {
  /// Creates the timers of a ledger's overrides of the sandbox.
  public init(_ postgres: PostgresClient) {
    self.init(postgres, .takeDueOverrides) { rows, unreadable in
      let reader = try SandboxOverrideRow.table.reader(of: rows)
      return rows.readable(unreadable: unreadable) { try reader.record($0).override }
    }
  }
}

extension PostgresStatement {
  fileprivate static let takeDueGrants = GrantRow.table.takeDue("take due grants")
  fileprivate static let takeDueOverrides = SandboxOverrideRow.table.takeDue("take due sandbox access")
}

extension Table {
  /// Takes due rows of a table with `publisher_id` and `due_at`.
  ///
  /// Only these rows are locked, and no customer. A commit that ends one locks the customer first, and waits for this
  /// statement only while it runs.
  fileprivate func takeDue(_ statement: String) -> PostgresStatement {
    let keys = key.map { "q.\($0)" }.joined(separator: ", ")
    return PostgresStatement(
      statement,
      """
      WITH n AS (
        SELECT d.* FROM unnest($1::bigint[], $2::bigint[]) AS a (publisher_id, most)
          CROSS JOIN LATERAL (
            SELECT \(keys) FROM \(name) q WHERE q.publisher_id = a.publisher_id AND q.due_at <= now()
            ORDER BY q.due_at LIMIT a.most FOR NO KEY UPDATE SKIP LOCKED) d
        LIMIT $3)
      UPDATE \(name) t SET due_at = now() + $4 * interval '1 millisecond' FROM n WHERE \(isSame)
      RETURNING \(selected("t"))
      """)
  }
}

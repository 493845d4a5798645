public import Domain
import EventLoop
import Postgres

extension CustomerStore {
  /// A page of a publisher's customers, in the order of their ids.
  public struct Page: Sendable {
    public let ids: [CustomerId]
    /// How many there are, counted to ``CustomerStore/mostCounted``.
    public let total: Int64
  }

  /// Nobody needs to know a greater number, and to count further would read a whole table.
  public static let mostCounted: Int64 = 100_000

  /// Reads a page of a publisher's customers.
  ///
  /// - Parameter prefix: the text with which their ids begin; empty for all.
  public func list(_ publisher: Int64, prefix: String, skip: Int, limit: Int) async throws -> Page {
    let rows = try await postgres.run([
      PostgresQuery(
        .listCustomers, [.int64(publisher), .text(prefix), .int64(Int64(skip)), .int64(Int64(limit))]),
      PostgresQuery(.countCustomers, [.int64(publisher), .text(prefix), .int64(Self.mostCounted)]),
    ])
    return Page(ids: try rows[0].map { try $0.id("id") ?? "" }, total: try rows[1].first?.int64("count") ?? 0)
  }
}

extension PostgresStatement {
  fileprivate static let listCustomers = PostgresStatement(
    "list customers",
    """
    SELECT id FROM customers WHERE publisher_id = $1 AND starts_with(id, $2) ORDER BY id OFFSET $3 LIMIT $4
    """)

  fileprivate static let countCustomers = PostgresStatement(
    "count customers",
    """
    SELECT count(*) AS count FROM (
      SELECT FROM customers WHERE publisher_id = $1 AND starts_with(id, $2) LIMIT $3) AS counted
    """)
}

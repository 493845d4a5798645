public import Domain
public import EventLoop
public import Postgres

/// The ids of a publisher's customers, page by page.
@LoopActor
public struct CustomerList {
  private let postgres: PostgresClient
  private let publisher: PublisherId

  /// Creates a list.
  public init(_ postgres: PostgresClient, publisher: PublisherId) {
    (self.postgres, self.publisher) = (postgres, publisher)
  }

  /// Reads ids, in the order of their bytes.
  ///
  /// - Parameter last: the last one of the page before; `nil` for the first page.
  /// - Throws: `PostgresError`.
  public func page(after last: CustomerId?, limit: Int) async throws -> [CustomerId] {
    let rows = try await postgres.run(
      PostgresQuery(.listCustomers, [.id(publisher), .id(last ?? ""), .int64(Int64(limit))]))
    return try rows.map { try $0.id("id") ?? "" }
  }
}

extension PostgresStatement {
  fileprivate static let listCustomers = PostgresStatement(
    "list ids of customers", isByKeys: true,
    "SELECT id FROM customers WHERE publisher_id = $1 AND id > $2 ORDER BY id LIMIT $3")
}

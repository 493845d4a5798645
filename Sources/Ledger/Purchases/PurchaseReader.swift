public import Domain
public import EventLoop
public import Postgres

/// Reads purchases for answers, without locks. Each method is one trip, and throws `PostgresError`, or
/// `UnreadableRecord` for a row that this code cannot read.
@LoopActor
public struct PurchaseReader {
  private let postgres: PostgresClient

  /// Creates a reader.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// The place of a purchase in the list of a customer's purchases.
  public struct Place: Sendable, Equatable {
    public let environment: Environment
    public let originalTransactionId: OriginalTransactionId

    /// Creates a place.
    public init(environment: Environment, originalTransactionId: OriginalTransactionId) {
      self.environment = environment
      self.originalTransactionId = originalTransactionId
    }
  }

  /// Reads a page of a customer's purchases, in the order of environment and originalTransactionId.
  ///
  /// - Parameter place: where the page before it ended; `nil` for the first page.
  public func purchases(
    of customer: CustomerKey, after place: Place? = nil, limit: Int
  ) async throws -> CustomerPurchases {
    let rows = try await postgres.run(
      PostgresQuery(
        .readPage,
        [
          .id(customer.publisherId), .id(customer.id), .id(place?.environment ?? ""),
          .id(place?.originalTransactionId ?? ""), .int64(Int64(limit)),
        ]))
    return try CustomerPurchases(rows, CustomerPurchases.Columns(rows))
  }

  /// Reads a purchase; `nil` if the publisher has none of the name.
  ///
  /// - Parameter environments: in which the purchase may be. If it is in more than one of them, the first one counts.
  public func purchase(
    _ publisherId: PublisherId, _ originalTransactionId: OriginalTransactionId, in environments: [Environment]
  ) async throws -> PurchaseRecord? {
    let parameters: [PostgresParameter] = [
      .id(publisherId), .ids(environments), .id(originalTransactionId),
    ]
    let rows = try await postgres.run([
      PostgresQuery(.readPurchase, parameters), PostgresQuery(.readTransactions, parameters),
      PostgresQuery(.readOwnerships, parameters),
    ])
    let purchases = try PurchaseRow.table.records(rows[0])
    let found = environments.lazy.compactMap { name in
      purchases.first { $0.facts.environment == name }
    }.first
    guard let found else { return nil }
    let key = found.key
    let transactions = try TransactionRow.table.records(rows[1]).filter { $0.key == key }
    return PurchaseRecord(
      try found.purchase(transactions.map(\.facts)),
      firstGrants: transactions.reduce(into: [:]) { $0[$1.facts.transactionId] = $1.firstGrantedAt },
      ownerships: try rows[2].filter { try $0.id("environment") == key.environment }
        .map(OwnershipPeriod.init))
  }

  /// Reads purchases with all their transactions, by their keys. An unknown key has none.
  public func purchases(_ keys: [PurchaseKey]) async throws -> [PurchaseKey: Purchase] {
    let parameters: [PostgresParameter] = [
      .ids(keys.map(\.publisherId)), .ids(keys.map(\.environment)), .ids(keys.map(\.originalTransactionId)),
    ]
    return try await read([
      PostgresQuery(.readNamed, parameters), PostgresQuery(.readNamedTransactions, parameters),
    ])
  }

  /// Reads a customer's purchases with all their transactions, consumables too.
  ///
  /// - Parameter limit: the most of them.
  public func allPurchases(of customer: CustomerKey, limit: Int = 1000) async throws -> [Purchase] {
    let parameters: [PostgresParameter] = [
      .id(customer.publisherId), .id(customer.id), .int64(Int64(limit)),
    ]
    return try await read([
      PostgresQuery(.readOwned, parameters), PostgresQuery(.readOwnedTransactions, parameters),
    ]).values.sorted { $0.key < $1.key }
  }

  /// Reads purchases, and then their transactions.
  private func read(_ queries: [PostgresQuery]) async throws -> [PurchaseKey: Purchase] {
    let rows = try await postgres.run(queries)
    let transactions = try TransactionRow.byPurchase(rows[1])
    let purchases = try PurchaseRow.table.records(rows[0]).map { try $0.purchase(transactions[$0.key] ?? []) }
    return Dictionary(purchases.map { ($0.key, $0) }) { one, _ in one }
  }
}

extension OwnershipPeriod {
  fileprivate init(_ row: PostgresRow) throws {
    guard let subscription = try row.int64("subscription_id"), let began = try row.time("began_at"),
      let cause = try row.text("cause")
    else { throw UnreadableRecord("ownership \(try row.int64("subscription_id") ?? 0)") }
    self.init(
      subscriptionId: subscription, customerId: try row.id("customer_id"), beganAt: began,
      endedAt: try row.time("ended_at"), cause: cause)
  }
}

extension PostgresStatement {
  fileprivate static let readPage = PostgresStatement(
    "read page of purchases",
    """
    SELECT \(PurchaseRow.table.selected("p")), c.version AS customer_version FROM (SELECT) one
      LEFT JOIN customers c ON c.publisher_id = $1 AND c.id = $2
      LEFT JOIN (
        SELECT * FROM purchases WHERE publisher_id = $1 AND customer_id = $2
          AND (environment, original_transaction_id) > ($3, $4)
        ORDER BY environment, original_transaction_id LIMIT $5) p ON true
    ORDER BY p.environment, p.original_transaction_id
    """)

  private static let named = """
    unnest($1::bigint[], $2::text[], $3::text[]) AS n (publisher_id, environment, original_transaction_id)
    """

  fileprivate static let readNamed = PostgresStatement(
    "read named purchases",
    """
    SELECT \(PurchaseRow.table.selected("p")) FROM \(named)
      JOIN purchases p USING (publisher_id, environment, original_transaction_id)
    """)

  fileprivate static let readNamedTransactions = PostgresStatement(
    "read transactions of named purchases",
    """
    SELECT \(TransactionRow.table.selected("t")) FROM \(named)
      JOIN transactions t USING (publisher_id, environment, original_transaction_id)
    """)

  fileprivate static let readOwned = PostgresStatement(
    "read all purchases of customer",
    """
    SELECT \(PurchaseRow.table.selected("p")) FROM purchases p WHERE p.publisher_id = $1 AND p.customer_id = $2
    ORDER BY p.purchase_date DESC LIMIT $3
    """)

  fileprivate static let readOwnedTransactions = PostgresStatement(
    "read transactions of customer",
    """
    SELECT \(TransactionRow.table.selected("t")) FROM (
      SELECT publisher_id, environment, original_transaction_id FROM purchases
      WHERE publisher_id = $1 AND customer_id = $2 ORDER BY purchase_date DESC LIMIT $3) p
      JOIN transactions t USING (publisher_id, environment, original_transaction_id)
    """)

  fileprivate static let readPurchase = PostgresStatement(
    "read purchase",
    """
    SELECT \(PurchaseRow.table.selected("p")) FROM purchases p
    WHERE p.publisher_id = $1 AND p.environment = ANY($2) AND p.original_transaction_id = $3
    """)

  fileprivate static let readTransactions = PostgresStatement(
    "read transactions of purchase",
    """
    SELECT \(TransactionRow.table.selected("t")) FROM transactions t
    WHERE t.publisher_id = $1 AND t.environment = ANY($2) AND t.original_transaction_id = $3
    """)

  fileprivate static let readOwnerships = PostgresStatement(
    "read ownerships of purchase",
    """
    SELECT o.environment, o.subscription_id, o.customer_id, o.began_at, o.ended_at, o.cause FROM ownerships o
    WHERE o.publisher_id = $1 AND o.environment = ANY($2) AND o.original_transaction_id = $3
    ORDER BY o.began_at, o.ended_at, o.subscription_id
    """)
}

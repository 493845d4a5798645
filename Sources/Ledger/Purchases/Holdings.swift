public import Domain
public import EventLoop
public import Postgres

/// Reads the purchases and the grants that decide about customers' entitlements. One trip asks for all customers of a
/// turn of the loop: its Sync costs PostgreSQL as much as the search for one customer.
@LoopActor
public final class Holdings {
  /// The most customers of one statement.
  private static let most = 100

  private let batch: TurnBatch<CustomerKey, CustomerPurchases>

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) {
    batch = TurnBatch(atMost: Self.most) { try await Self.read($0) { try await postgres.run($0) } }
  }

  /// Reads a customer's grants and purchases, all but consumables.
  ///
  /// - Throws: `PostgresError`, or ``UnreadableRecord`` for a row that this code cannot read.
  public func holdings(of customer: CustomerKey) async throws -> CustomerPurchases {
    try await batch.ask(customer)
  }

  /// Reads what some customers hold, in their order.
  ///
  /// - Parameter run: asks the ledger, in a transaction or not.
  static func read(
    _ customers: [CustomerKey], _ run: @LoopActor ([PostgresQuery]) async throws -> [PostgresRows]
  ) async throws -> [Result<CustomerPurchases, any Error>] {
    let keys: [PostgresParameter] = [.ids(customers.map(\.publisherId)), .ids(customers.map(\.id))]
    let results = try await run([PostgresQuery(.readHoldings, keys), PostgresQuery(.readGrants, keys)])
    let rows = results[0]
    let (columns, place) = (try CustomerPurchases.Columns(rows), try rows.column("place"))
    var found = customers.map { _ in [PostgresRow]() }
    for row in rows { found[Int(try row.int64(place) ?? 1) - 1].append(row) }
    // An unreadable row is the failure of one customer.
    let grants = try GrantRow.table.records(byCustomer: results[1])
    return zip(customers, found).map { customer, rows in
      Result {
        var holdings = try CustomerPurchases(rows, columns)
        holdings.grants = try grants[customer]?.get().map(\.grant) ?? []
        return holdings
      }
    }
  }
}

extension CustomerPurchases {
  /// The columns of rows that have a customer's version, and a purchase if the customer has any.
  struct Columns {
    fileprivate let version: PostgresColumn
    fileprivate let key: PostgresColumn
    fileprivate let purchase: TableReader<PurchaseRow>

    init(_ rows: PostgresRows) throws {
      version = try rows.column("customer_version")
      key = try rows.column("original_transaction_id")
      purchase = try PurchaseRow.table.reader(of: rows)
    }
  }

  /// Reads the rows of a customer: at least one, whose purchase may be missing.
  init(_ rows: some Sequence<PostgresRow>, _ columns: Columns) throws {
    var (version, purchases): (Int64?, [Purchase]) = (nil, [])
    for row in rows {
      version = try row.int64(columns.version)
      if try row.text(columns.key) != nil { purchases.append(try columns.purchase.record(row).purchase()) }
    }
    // A customer who owns something is known, also if no entitlement was told yet.
    self.init(isKnown: version != nil || !purchases.isEmpty, version: version ?? 0, purchases: purchases)
  }
}

extension PostgresStatement {
  fileprivate static let readGrants = PostgresStatement(
    "read grants of holders",
    GrantRow.open(of: "(SELECT * FROM unnest($1::bigint[], $2::text[]) AS k (publisher_id, customer_id))"))

  /// Each customer is searched for by itself, whatever PostgreSQL believes about the tables' sizes.
  fileprivate static let readHoldings = PostgresStatement(
    "read holdings",
    """
    SELECT \(PurchaseRow.table.selected("p")), c.version AS customer_version, n.place
    FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS n (publisher_id, customer_id, place)
      LEFT JOIN LATERAL (
        SELECT version FROM customers WHERE publisher_id = n.publisher_id AND id = n.customer_id OFFSET 0) c ON true
      LEFT JOIN LATERAL (
        SELECT * FROM purchases WHERE publisher_id = n.publisher_id AND customer_id = n.customer_id
          AND kind <> 'Consumable' OFFSET 0) p ON true
    """)
}

import Domain
import Postgres

/// The first trip of a commit about one customer's access by hand: locks the customer, and reads what the decision
/// needs.
///
/// No purchase is locked. Whoever changes one locks its owner, too.
struct CustomerReading {
  let customer: CustomerKey
  /// The grant that the commit is about; `nil` for another commit.
  var grant: GrantId?

  /// What the trip has found.
  struct Found {
    var state: CommitState
    /// The grant that has the id.
    var grant: Grant?
    /// The customer's last override of the sandbox, also one that is over.
    var override: SandboxOverride?
  }

  /// The statements, in the order of ``read(_:now:)``.
  var queries: [PostgresQuery] {
    let parameters: [PostgresParameter] = [.id(customer.publisherId), .id(customer.id)]
    return [
      PostgresQuery(.lockGranted, parameters), PostgresQuery(.readOwnedByGranted, parameters),
      PostgresQuery(.readOpenGrants, parameters), PostgresQuery(.readOverride, parameters),
      PostgresQuery(.readErasure, [.id(customer.publisherId), .bytes(ErasedCustomer.sha256(of: customer))]),
      PostgresQuery(.readGrant, [.id(customer.publisherId), .id(grant)]),
    ]
  }

  /// Reads the rows.
  ///
  /// - Parameter now: milliseconds since 1970.
  func read(_ rows: [PostgresRows], now: Int64) throws -> Found {
    var record = try CustomerRow.table.records(rows[0]).first?.record ?? CustomerRecord()
    record.others = try PurchaseRow.table.records(rows[1]).map { try $0.purchase() }
    record.grants = try GrantRow.table.records(rows[2]).map(\.grant)
    let override = try SandboxOverrideRow.table.records(rows[3]).first?.override
    record.sandboxUntil = override.flatMap { $0.endedAt == nil ? $0.endsAt : nil }
    record.erasedAt = try rows[4].first?.time("erased_at")
    return Found(
      state: CommitState(purchases: [], customers: [customer: record], subscriptionIds: [], now: now),
      grant: try GrantRow.table.records(rows[5]).first?.grant, override: override)
  }
}

extension PostgresStatement {
  fileprivate static let lockGranted = PostgresStatement(
    "lock a customer with grants",
    """
    SELECT \(CustomerRow.table.selected("c")) FROM customers c WHERE c.publisher_id = $1 AND c.id = $2
    FOR NO KEY UPDATE
    """)

  private static let granted = "(SELECT $1::bigint AS publisher_id, $2::text AS customer_id)"

  fileprivate static let readOwnedByGranted = PostgresStatement(
    "read owned by a customer with grants", PurchaseRow.owned(by: granted))

  fileprivate static let readOpenGrants = PostgresStatement("read open grants", GrantRow.open(of: granted))

  fileprivate static let readErasure = PostgresStatement(
    "read erasure", "SELECT erased_at FROM erased_customers WHERE publisher_id = $1 AND id_sha256 = $2")

  fileprivate static let readGrant = PostgresStatement(
    "read grant", "SELECT \(GrantRow.table.selected("g")) FROM grants g WHERE g.publisher_id = $1 AND g.id = $2")
}

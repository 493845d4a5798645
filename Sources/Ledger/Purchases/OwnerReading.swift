import Domain
import Postgres

/// The first trip of a commit that takes a purchase from its owner: locks the purchase, then the owner, as the commits
/// of the workers do, and reads what the decision needs.
struct OwnerReading {
  let key: PurchaseKey

  /// The statements, in the order of ``read(_:now:)``.
  var queries: [PostgresQuery] {
    let parameters: [PostgresParameter] = [
      .id(key.publisherId), .id(key.environment), .id(key.originalTransactionId),
    ]
    return [
      PostgresQuery(.lockPurchase, parameters), PostgresQuery(.lockOwner, parameters),
      PostgresQuery(.readOwnedByOwner, parameters), PostgresQuery(.readGrantsOfOwner, parameters),
      PostgresQuery(.readSandboxAccessOfOwner, parameters),
    ]
  }

  /// Reads the rows; `nil` if there is no such purchase.
  func read(_ rows: [PostgresRows], now: Int64) throws -> CommitState? {
    guard let purchase = try PurchaseRow.table.records(rows[0]).first?.purchase() else { return nil }
    var customers: [CustomerKey: CustomerRecord] = [:]
    if let owner = purchase.owner {
      var record = try CustomerRow.table.records(rows[1]).first?.record ?? CustomerRecord()
      record.others = try PurchaseRow.table.records(rows[2]).map { try $0.purchase() }.filter { $0.key != key }
      customers[key.customer(owner.customerId)] = record
      try GrantRow.note(rows[3], in: &customers)
      try SandboxOverrideRow.note(rows[4], in: &customers)
    }
    return CommitState(purchases: [purchase], customers: customers, subscriptionIds: [], now: now)
  }
}

extension PostgresStatement {
  private static let named =
    "p.publisher_id = $1 AND p.environment = $2 AND p.original_transaction_id = $3"

  fileprivate static let lockPurchase = PostgresStatement(
    "lock purchase",
    "SELECT \(PurchaseRow.table.selected("p")) FROM purchases p WHERE \(named) FOR NO KEY UPDATE")

  fileprivate static let lockOwner = PostgresStatement(
    "lock owner",
    """
    SELECT \(CustomerRow.table.selected("c")) FROM purchases p
      JOIN customers c ON c.publisher_id = p.publisher_id AND c.id = p.customer_id
    WHERE \(named) FOR NO KEY UPDATE OF c
    """)

  private static let owner = "(SELECT p.publisher_id, p.customer_id FROM purchases p WHERE \(named))"

  fileprivate static let readOwnedByOwner = PostgresStatement("read owned by owner", PurchaseRow.owned(by: owner))

  fileprivate static let readGrantsOfOwner = PostgresStatement("read grants of owner", GrantRow.open(of: owner))

  fileprivate static let readSandboxAccessOfOwner = PostgresStatement(
    "read sandbox access of owner", SandboxOverrideRow.open(of: owner))
}

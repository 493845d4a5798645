import Domain
import Postgres

/// A row of `grants`.
struct GrantRow: ReadableRecord {
  var grant: Grant

  static let blank = GrantRow(
    grant: Grant(
      id: "", customer: CustomerKey(publisherId: 0, id: ""), offerId: "", reason: .support, createdAt: 0, endsAt: 0))
  var title: String { "grant \(grant.id)" }
  var customer: CustomerKey? { grant.customer }

  static let table = Table<GrantRow>("grants", key: ["publisher_id", "id"]) { columns in
    columns.required(
      "publisher_id", .publisher, { $0.grant.customer.publisherId },
      { $0.grant.customer = CustomerKey(publisherId: $1, id: $0.grant.customer.id) })
    columns.required("id", .id(of: GrantId.self), { $0.grant.id }, { $0.grant.id = $1 }, export: "grantId")
    columns.required(
      "customer_id", .id(of: CustomerId.self), { $0.grant.customer.id },
      { $0.grant.customer = CustomerKey(publisherId: $0.grant.customer.publisherId, id: $1) }, person: .withRow)
    columns.required(
      "offer_id", .id(of: OfferId.self), { $0.grant.offerId }, { $0.grant.offerId = $1 }, export: "offerId")
    columns.required(
      "reason", .name(of: Grant.Reason.self), { $0.grant.reason }, { $0.grant.reason = $1 }, export: "reason")
    columns.optional("note", .text, { $0.grant.note }, { $0.grant.note = $1 }, export: "note", person: .withRow)
    columns.required(
      "created_at", .timestamptz, { $0.grant.createdAt }, { $0.grant.createdAt = $1 }, export: "createdAt")
    columns.required("ends_at", .timestamptz, { $0.grant.endsAt }, { $0.grant.endsAt = $1 }, export: "expiresAt")
    columns.optional(
      "withdrawn_at", .timestamptz, { $0.grant.withdrawnAt }, { $0.grant.withdrawnAt = $1 }, export: "withdrawnAt")
    columns.optional("ended_at", .timestamptz, { $0.grant.endedAt }, { $0.grant.endedAt = $1 }, export: "endedAt")
    // A worker that takes the row writes the end of its lease. So the column is no part of the grant.
    columns.written("due_at", .timestamptz, isNullable: true) {
      $0.grant.withdrawnAt == nil && $0.grant.endedAt == nil ? $0.grant.endsAt : nil
    }
  }

  /// Two equal ids are one request that was sent twice. The second one fails, and runs again.
  static let insert = table.insert("insert grants")

  /// What ends a grant.
  static let ends = table.only("withdrawn_at", "ended_at", "due_at")

  /// Writes ``ends``. The customers are locked.
  static let end = ends.update("end grants")

  /// The grants whose end was not told, of customers in a table with `publisher_id` and `customer_id`.
  static func open(of customers: String) -> String {
    """
    SELECT \(table.selected("g")) FROM \(customers) n
      JOIN LATERAL (
        SELECT * FROM grants o WHERE o.publisher_id = n.publisher_id AND o.customer_id = n.customer_id
          AND o.due_at IS NOT NULL OFFSET 0) g ON true
    """
  }

  /// Gives each customer its grants.
  static func note(_ rows: PostgresRows, in customers: inout [CustomerKey: CustomerRecord]) throws {
    for row in try table.records(rows) { customers[row.grant.customer]?.grants.append(row.grant) }
  }
}

import Domain
import Postgres

/// A row of `sandbox_access`.
struct SandboxOverrideRow: ReadableRecord {
  var override: SandboxOverride

  static let blank = SandboxOverrideRow(
    override: SandboxOverride(customer: CustomerKey(publisherId: 0, id: ""), endsAt: 0, reason: .support, setAt: 0))
  var title: String { "a sandbox access of publisher \(override.customer.publisherId)" }
  var customer: CustomerKey? { override.customer }

  static let table = Table<SandboxOverrideRow>(
    "sandbox_access", key: ["publisher_id", "customer_id"]
  ) { columns in
    columns.required(
      "publisher_id", .publisher, { $0.override.customer.publisherId },
      { $0.override.customer = CustomerKey(publisherId: $1, id: $0.override.customer.id) })
    columns.required(
      "customer_id", .id(of: CustomerId.self), { $0.override.customer.id },
      { $0.override.customer = CustomerKey(publisherId: $0.override.customer.publisherId, id: $1) }, person: .withRow)
    columns.required("until", .timestamptz, { $0.override.endsAt }, { $0.override.endsAt = $1 }, export: "until")
    columns.required(
      "reason", .name(of: SandboxOverride.Reason.self), { $0.override.reason }, { $0.override.reason = $1 },
      export: "reason")
    columns.optional("note", .text, { $0.override.note }, { $0.override.note = $1 }, export: "note", person: .withRow)
    // An operator's name is none of the publisher's business.
    columns.required("set_by", .text, { $0.override.setBy }, { $0.override.setBy = $1 })
    columns.required("set_at", .timestamptz, { $0.override.setAt }, { $0.override.setAt = $1 }, export: "setAt")
    columns.optional("ended_at", .timestamptz, { $0.override.endedAt }, { $0.override.endedAt = $1 }, export: "endedAt")
    // A worker that takes the row writes the end of its lease. So the column is no part of the override.
    columns.written("due_at", .timestamptz, isNullable: true) {
      $0.override.endedAt == nil ? $0.override.endsAt : nil
    }
  }

  /// The customer is locked.
  static let put = table.upsert("put sandbox access")

  /// What ends an override.
  static let ends = table.only("ended_at", "due_at")

  /// Writes ``ends``. The customer is locked.
  static let end = ends.update("end sandbox access")

  /// What a commit about purchases needs.
  private static let terms = table.only("until")

  /// The overrides whose end was not told, of customers in a table with `publisher_id` and `customer_id`.
  static func open(of customers: String) -> String {
    """
    SELECT \(terms.selected("s")) FROM \(customers) n
      JOIN LATERAL (
        SELECT * FROM sandbox_access o WHERE o.publisher_id = n.publisher_id AND o.customer_id = n.customer_id
          AND o.due_at IS NOT NULL OFFSET 0) s ON true
    """
  }

  /// Until when the override of a purchase's owner lasts. Only purchases of the sandbox look for one.
  ///
  /// - Parameter purchase: an alias of a row of `purchases`.
  @Sendable static func end(ofOwnerOf purchase: String) -> String {
    """
    CASE WHEN \(purchase).environment <> '\(Environment.production.text)' THEN (
      SELECT o.until FROM sandbox_access o WHERE o.publisher_id = \(purchase).publisher_id
        AND o.customer_id = \(purchase).customer_id AND o.due_at IS NOT NULL) END
    """
  }

  /// Gives each customer its override.
  static func note(_ rows: PostgresRows, in customers: inout [CustomerKey: CustomerRecord]) throws {
    for row in try terms.records(rows) { customers[row.override.customer]?.sandboxUntil = row.override.endsAt }
  }
}

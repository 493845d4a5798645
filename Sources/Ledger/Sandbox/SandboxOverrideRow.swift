import Domain
import Postgres

/// A row of `sandbox_access`.
struct SandboxOverrideRow: ReadableRecord {
  var override: SandboxOverride

  static let blank = SandboxOverrideRow(
    override: SandboxOverride(customer: CustomerKey(publisherId: 0, id: ""), endsAt: 0, reason: "", createdAt: 0))
  var title: String { "sandbox access of publisher \(override.customer.publisherId)" }
  var customer: CustomerKey? { override.customer }

  static let table = Table<SandboxOverrideRow>("sandbox_access", key: ["publisher_id", "customer_id"]) { columns in
    columns.required(
      "publisher_id", .bigint, { $0.override.customer.publisherId },
      { $0.override.customer = CustomerKey(publisherId: $1, id: $0.override.customer.id) })
    columns.required(
      "customer_id", .id(of: CustomerId.self), { $0.override.customer.id },
      { $0.override.customer = CustomerKey(publisherId: $0.override.customer.publisherId, id: $1) },
      person: .withRow)
    columns.required(
      "ends_at", .timestamptz, { $0.override.endsAt }, { $0.override.endsAt = $1 }, export: "expiresAt")
    columns.required(
      "reason", .text, { $0.override.reason }, { $0.override.reason = $1 }, export: "reason", person: .withRow)
    columns.optional("person", .text, { $0.override.person }, { $0.override.person = $1 })
    columns.required(
      "created_at", .timestamptz, { $0.override.createdAt }, { $0.override.createdAt = $1 }, export: "createdAt")
    // A worker that takes the row writes the end of its lease. So the column is no part of the override.
    columns.written("due_at", .timestamptz) { $0.override.endsAt }
  }
}

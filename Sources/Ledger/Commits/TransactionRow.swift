import Domain
import Postgres

/// A row of `transactions`: the newest verified facts of a transaction.
///
/// `docs/internals/a-new-column.md` tells how to add a column.
struct TransactionRow: ReadableRecord, FactsRecord {
  var publisherId: PublisherId = 0
  var facts = TransactionFacts.blank
  /// Set once for ever.
  var firstGrantedAt: Int64?

  static let blank = TransactionRow()
  var title: String { "transaction \(facts.transactionId)" }

  static let table = Table<TransactionRow>(
    "transactions", key: ["publisher_id", "transaction_id", "environment"]
  ) { columns in
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.facts(ofPurchase: false)
    columns.optional(
      "revocation_reason", .integer, { $0.facts.revocationReason }, { $0.facts.revocationReason = $1 },
      export: "revocationReason")
    columns.optional(
      "app_transaction_id", .id(of: AppTransactionId.self), { $0.facts.appTransactionId },
      { $0.facts.appTransactionId = $1 })
    columns.optional(
      "web_order_line_item_id", .id(of: WebOrderLineItemId.self), { $0.facts.webOrderLineItemId },
      { $0.facts.webOrderLineItemId = $1 })
    columns.optional(
      "first_granted_at", .timestamptz, { $0.firstGrantedAt }, { $0.firstGrantedAt = $1 }, merge: .first,
      export: "firstGrantedAt")
  }

  /// The purchase that has the transaction.
  var key: PurchaseKey { facts.purchase(of: publisherId) }

  /// The lock of the purchase guards its transactions. A first grant stays for ever.
  static let upsert = table.upsert("upsert transactions")
}

extension TransactionRow {
  /// The facts of each purchase's transactions.
  static func byPurchase(_ rows: PostgresRows) throws -> [PurchaseKey: [TransactionFacts]] {
    try table.records(rows).reduce(into: [:]) { found, row in found[row.key, default: []].append(row.facts) }
  }
}

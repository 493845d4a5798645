public import Domain
import EventLoop
import Formats
import JSON
import Postgres

extension CustomerStore {
  /// Returns everything that the ledger keeps about a person as one JSON document; `nil` when it keeps nothing.
  ///
  /// All of it is from one moment.
  ///
  /// - Parameter now: the time in the document, in milliseconds since 1970.
  public func export(_ publisher: PublisherId, _ id: CustomerId, now: Int64) async throws -> [UInt8]? {
    let customer: [PostgresParameter] = [.id(publisher), .id(id)]
    let rows = try await postgres.transaction { transaction in
      _ = try await transaction.query(PostgresQuery(.oneMoment))
      return try await transaction.query(ExportPart.all.map { PostgresQuery($0.statement, customer) })
    }
    guard rows.contains(where: { !$0.isEmpty }) else { return nil }
    var parts: [[[UInt8]]] = []
    let transactions = try Dictionary(grouping: rows[ExportPart.transactions]) {
      try ExportPart.purchaseKey($0, of: publisher)
    }
    for (place, part) in ExportPart.all.enumerated() {
      parts.append(
        try rows[place].map { row in
          try part.document.json(row) { purchase in
            guard place == ExportPart.purchases else { return }
            let own = transactions[try ExportPart.purchaseKey(row, of: publisher)] ?? []
            purchase.member(
              "transactions", array: try own.map { try ExportPart.all[ExportPart.transactions].document.json($0) })
          }
        })
    }
    return try JSONWriter.object { document in
      document.member("attempts", array: parts[ExportPart.attempts])
      document.member("audit", array: parts[ExportPart.audit])
      document.member("consents", array: parts[ExportPart.consents])
      try document.member("customer") { person in
        person.member("cleengCustomerId", id.number)
        person.member("customerId", id)
        if let row = rows[ExportPart.customer].first {
          try ExportPart.all[ExportPart.customer].document.write(row, to: &person)
        }
      }
      document.member("events", array: parts[ExportPart.events])
      document.member("exportedAt", rfc3339(milliseconds: now))
      document.member("grants", array: parts[ExportPart.grants])
      document.member("notes", array: parts[ExportPart.notes])
      document.member("ownerships", array: parts[ExportPart.ownerships])
      document.member("purchases", array: parts[ExportPart.purchases])
      document.member("refundRequests", array: parts[ExportPart.refundRequests])
      document.member("sandboxAccess", array: parts[ExportPart.sandboxAccess])
      document.member("synchronizations", array: parts[ExportPart.synchronizations])
    }
  }

  /// Notes in the audit log that a person takes a customer's document along. An erasure of the customer takes the id
  /// out of it.
  public func noteExport(_ customer: CustomerKey, by person: String) async throws {
    let entry = AuditEntry(
      publisherId: customer.publisherId, by: person, action: "customer.exported", subject: customer.id.text)
    _ = try await postgres.run(AuditEntry.insert([entry]))
  }
}

/// One part of the document: the rows of a table.
private struct ExportPart: Sendable {
  let document: RowDocument
  let statement: PostgresStatement

  /// - Parameter rest: the statement behind the columns. `$1` is the publisher, `$2` the customer.
  init(_ name: String, _ document: RowDocument, _ rest: String) {
    self.document = document
    // An export of a publisher has statements with the names of the parts, and other texts.
    statement = PostgresStatement("export of a customer: " + name, "SELECT \(document.sql) \(rest)")
  }

  // The places of the parts.
  static let (customer, purchases, transactions, ownerships) = (0, 1, 2, 3)
  static let (synchronizations, events, attempts, audit) = (4, 5, 6, 7)
  static let (consents, refundRequests, grants) = (8, 9, 10)
  static let (notes, sandboxAccess) = (11, 12)

  static let all: [ExportPart] = [
    ExportPart("customer", CustomerRow.table.document(), "FROM customers WHERE publisher_id = $1 AND id = $2"),
    ExportPart(
      "purchases", PurchaseRow.table.document(first: keyMembers),
      """
      FROM purchases WHERE publisher_id = $1 AND customer_id = $2 ORDER BY environment, original_transaction_id
      """),
    ExportPart(
      "transactions", TransactionRow.table.document(first: keyMembers),
      """
      FROM transactions WHERE publisher_id = $1 AND (environment, original_transaction_id) IN (
        SELECT environment, original_transaction_id FROM purchases WHERE publisher_id = $1 AND customer_id = $2)
      ORDER BY purchase_date, transaction_id
      """),
    ExportPart(
      "ownerships", OwnershipRow.table.document(first: keyMembers),
      "FROM ownerships WHERE publisher_id = $1 AND customer_id = $2 ORDER BY began_at, subscription_id"),
    ExportPart(
      "synchronizations", SynchronizationRow.table.document(),
      """
      FROM synchronizations WHERE publisher_id = $1 AND customer_id = $2
      ORDER BY finalized_at NULLS LAST, id, transaction_id
      """),
    ExportPart(
      "events", EventRow.table.document(),
      "FROM events WHERE publisher_id = $1 AND customer_id = $2 ORDER BY events.time, id"),
    ExportPart(
      "attempts", AttemptRow.table.document(),
      """
      FROM attempts WHERE event_id IN (SELECT id FROM events WHERE publisher_id = $1 AND customer_id = $2)
      ORDER BY at, attempts.id
      """),
    ExportPart(
      "audit", AuditEntry.table.document(adding: [.auditToken]),
      "FROM audit WHERE publisher_id = $1 AND subject = $2 AND action LIKE 'customer.%' ORDER BY audit.id"),
    ExportPart(
      "consents", RefundRequestRow.consents.document(),
      "FROM consents WHERE publisher_id = $1 AND customer_id = $2 ORDER BY consents.time"),
    ExportPart(
      "refund requests", RefundRequestRow.table.document(),
      "FROM refund_requests WHERE publisher_id = $1 AND customer_id = $2 ORDER BY requested_at, id"),
    ExportPart(
      "grants", GrantRow.table.document(),
      "FROM grants WHERE publisher_id = $1 AND customer_id = $2 ORDER BY created_at, grants.id"),
    ExportPart(
      "notes", CustomerNoteRow.table.document(),
      "FROM customer_notes n WHERE publisher_id = $1 AND customer_id = $2 ORDER BY n.created_at, n.id"),
    ExportPart(
      "sandbox access", SandboxOverrideRow.table.document(),
      "FROM sandbox_access WHERE publisher_id = $1 AND customer_id = $2"),
  ]

  /// The members that name a purchase come first.
  private static let keyMembers = ["environment", "originalTransactionId"]

  /// The key of a purchase's row, or of the purchase of a transaction's row.
  static func purchaseKey(_ row: PostgresRow, of publisher: PublisherId) throws -> PurchaseKey {
    PurchaseKey(
      publisherId: publisher, environment: try row.id("environment") ?? "",
      originalTransactionId: try row.id("originalTransactionId") ?? "")
  }
}

import Domain
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
  public func export(_ publisher: Int64, _ id: String, now: Int64) async throws -> [UInt8]? {
    let customer: [PostgresParameter] = [.int64(publisher), .text(id)]
    let rows = try await postgres.transaction { transaction in
      _ = try await transaction.query(PostgresQuery(.oneMoment))
      return try await transaction.query(ExportPart.all.map { PostgresQuery($0.statement, customer) })
    }
    guard rows.contains(where: { !$0.isEmpty }) else { return nil }
    var parts: [[[UInt8]]] = []
    let transactions = Dictionary(grouping: rows[ExportPart.transactions]) { ExportPart.purchaseKey($0) }
    for (place, part) in ExportPart.all.enumerated() {
      parts.append(
        rows[place].map { row in
          part.document.json(row) { purchase in
            guard place == ExportPart.purchases else { return }
            let own = transactions[ExportPart.purchaseKey(row)] ?? []
            purchase.member(
              "transactions", array: own.map { ExportPart.all[ExportPart.transactions].document.json($0) })
          }
        })
    }
    return JSONWriter.object { document in
      document.member("attempts", array: parts[ExportPart.attempts])
      document.member("audit", array: parts[ExportPart.audit])
      document.member("consents", array: parts[ExportPart.consents])
      document.member("customer") { person in
        person.member("cleengCustomerId", CustomerId.number(id))
        person.member("customerId", id)
        if let row = rows[ExportPart.customer].first {
          ExportPart.all[ExportPart.customer].document.write(row, to: &person)
        }
      }
      document.member("events", array: parts[ExportPart.events])
      document.member("exportedAt", rfc3339(milliseconds: now))
      document.member("ownerships", array: parts[ExportPart.ownerships])
      document.member("purchases", array: parts[ExportPart.purchases])
      document.member("refundRequests", array: parts[ExportPart.refundRequests])
      document.member("synchronizations", array: parts[ExportPart.synchronizations])
    }
  }
}

/// One part of the document: the rows of a table.
private struct ExportPart: Sendable {
  let document: RowDocument
  let statement: PostgresStatement

  /// - Parameter rest: the statement behind the columns. `$1` is the publisher, `$2` the customer.
  init(_ name: String, _ columns: [RowDocument.Column], _ rest: String) {
    document = RowDocument(columns)
    statement = PostgresStatement("export " + name, "SELECT \(document.sql) \(rest)")
  }

  // The places of the parts.
  static let (customer, purchases, transactions, ownerships) = (0, 1, 2, 3)
  static let (synchronizations, events, attempts, audit) = (4, 5, 6, 7)
  static let (consents, refundRequests) = (8, 9)

  static let all: [ExportPart] = [
    ExportPart(
      "customer",
      [
        .init("app_account_token", "appAccountToken", .uuid), .init("created_at", "createdAt", .time),
        .init("version", "customerVersion", .number), .init("email", "email"), .init("told", "entitlements", .told),
        .init("is_registered", "isRegistered", .flag), .init("updated_at", "updatedAt", .time),
      ],
      "FROM customers WHERE publisher_id = $1 AND id = $2"),
    ExportPart(
      "purchases", purchaseColumns,
      """
      FROM purchases WHERE publisher_id = $1 AND customer_id = $2 ORDER BY environment, original_transaction_id
      """),
    ExportPart(
      "transactions", transactionColumns,
      """
      FROM transactions WHERE publisher_id = $1 AND (environment, original_transaction_id) IN (
        SELECT environment, original_transaction_id FROM purchases WHERE publisher_id = $1 AND customer_id = $2)
      ORDER BY purchase_date, transaction_id
      """),
    ExportPart(
      "ownerships",
      [
        .init("environment", "environment"), .init("original_transaction_id", "originalTransactionId"),
        .init("began_at", "beganAt", .time), .init("cause", "cause"), .init("ended_at", "endedAt", .time),
        .init("subscription_id", "subscriptionId", .number),
      ],
      "FROM ownerships WHERE publisher_id = $1 AND customer_id = $2 ORDER BY began_at, subscription_id"),
    ExportPart(
      "synchronizations",
      [
        .init("data", "data", .json), .init("finalized_at", "finalizedAt", .time), .init("job", "job", .json),
        .init("kind", "kind"), .init("result", "result"), .init("status", "status"), .init("id", "synchronizationId"),
        .init("transaction_id", "transactionId"), .init("version", "version", .number),
      ],
      """
      FROM synchronizations WHERE publisher_id = $1 AND customer_id = $2
      ORDER BY finalized_at NULLS LAST, id, transaction_id
      """),
    ExportPart(
      "events",
      [.init("body", "body", .json), .init("id", "eventId"), .init("time", "time", .time)],
      "FROM events WHERE publisher_id = $1 AND customer_id = $2 ORDER BY time, id"),
    ExportPart(
      "attempts",
      [
        .init("endpoint_id", "endpointId"), .init("event_id", "eventId"), .init("answer", "response"),
        .init("status", "status", .number), .init("at", "time", .time),
      ],
      """
      FROM attempts WHERE event_id IN (SELECT id FROM events WHERE publisher_id = $1 AND customer_id = $2)
      ORDER BY at, attempts.id
      """),
    ExportPart(
      "audit",
      [
        .init("action", "action"), .auditActor, .init("at", "at", .time), .init("detail", "detail", .json),
        .init("id", "id", .number), .auditToken,
      ],
      "FROM audit WHERE publisher_id = $1 AND subject = $2 AND action LIKE 'customer.%' ORDER BY id"),
    ExportPart(
      "consents",
      [
        .init("is_given", "consented", .flag), .init("recorded_at", "recordedAt", .time),
        .init("text_version", "textVersion"), .init("time", "time", .time),
      ],
      "FROM consents WHERE publisher_id = $1 AND customer_id = $2 ORDER BY time"),
    ExportPart(
      "refund requests",
      [
        .init("answer", "answer", .json), .init("answered_by", "answeredBy"), .init("ended_at", "endedAt", .time),
        .init("environment", "environment"), .init("original_transaction_id", "originalTransactionId"),
        .init("product_id", "productId"), .init("reason", "reason"), .init("id", "refundRequestId"),
        .init("requested_at", "requestedAt", .time), .init("state", "state"), .init("transaction_id", "transactionId"),
      ],
      "FROM refund_requests WHERE publisher_id = $1 AND customer_id = $2 ORDER BY requested_at, id"),
  ]

  /// Purchases and transactions both begin with these columns.
  private static let keyColumns: [RowDocument.Column] = [
    .init("environment", "environment"), .init("original_transaction_id", "originalTransactionId"),
  ]

  private static let purchaseColumns: [RowDocument.Column] =
    keyColumns + [
      .init("app_account_token", "appAccountToken", .uuid), .init("attributes", "attributes", .json),
      .init("bundle_id", "bundleId"), .init("created_at", "createdAt", .time), .init("currency", "currency"),
      .init("expires_date", "expiresDate", .time), .init("grace_expires_date", "gracePeriodExpiresDate", .time),
      .init("next_product_id", "nextProductId"), .init("offer_id", "offerId"),
      .init("ownership_type", "ownershipType"), .init("price", "price", .number), .init("product_id", "productId"),
      .init("purchase_date", "purchaseDate", .time), .init("revocation_date", "revocationDate", .time),
      .init("subscription_id", "subscriptionId", .number), .init("transaction_id", "transactionId"),
      .init("kind", "type"), .init("updated_at", "updatedAt", .time), .init("version", "version", .number),
      .init("will_renew", "willRenew", .flag),
    ]

  private static let transactionColumns: [RowDocument.Column] =
    keyColumns + [
      .init("app_account_token", "appAccountToken", .uuid), .init("bundle_id", "bundleId"),
      .init("currency", "currency"), .init("expires_date", "expiresDate", .time),
      .init("first_granted_at", "firstGrantedAt", .time), .init("ownership_type", "ownershipType"),
      .init("price", "price", .number), .init("product_id", "productId"),
      .init("purchase_date", "purchaseDate", .time), .init("quantity", "quantity", .number),
      .init("revocation_date", "revocationDate", .time), .init("revocation_reason", "revocationReason", .number),
      .init("signed_date", "signedDate", .time), .init("transaction_id", "transactionId"), .init("kind", "type"),
    ]

  /// The key of a purchase's row, or of the purchase of a transaction's row.
  static func purchaseKey(_ row: PostgresRow) -> ExactText { "\(row.text(0) ?? "")|\(row.text(1) ?? "")".exact }
}

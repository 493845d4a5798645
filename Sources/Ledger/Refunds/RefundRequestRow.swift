import Domain
import Postgres

/// The rows of `refund_requests` and `consents`.
enum RefundRequestRow {
  static let table = Table<RefundRequest>("refund_requests", key: ["publisher_id", "id"]) { columns in
    columns.required("publisher_id", .publisher, { $0.purchase.publisherId }, { $0.purchase.publisherId = $1 })
    columns.required(
      "id", .id(of: RefundRequestId.self), { $0.id }, { $0.id = $1 }, export: "refundRequestId")
    columns.required(
      "environment", .id(of: Environment.self), { $0.purchase.environment }, { $0.purchase.environment = $1 },
      export: "environment")
    columns.required(
      "original_transaction_id", .id(of: OriginalTransactionId.self), { $0.purchase.originalTransactionId },
      { $0.purchase.originalTransactionId = $1 }, export: "originalTransactionId")
    columns.required(
      "transaction_id", .id(of: TransactionId.self), { $0.transactionId }, { $0.transactionId = $1 },
      export: "transactionId")
    columns.required("bundle_id", .id(of: BundleId.self), { $0.bundleId }, { $0.bundleId = $1 })
    columns.required(
      "product_id", .id(of: ProductId.self), { $0.productId }, { $0.productId = $1 }, export: "productId")
    columns.required("kind", .name(of: ProductKind.self), { $0.kind }, { $0.kind = $1 })
    columns.optional(
      "customer_id", .id(of: CustomerId.self), { $0.customerId }, { $0.customerId = $1 }, person: .cleared)
    columns.optional("reason", .text, { $0.reason }, { $0.reason = $1 }, export: "reason")
    columns.required(
      "requested_at", .timestamptz, { $0.requestedAt }, { $0.requestedAt = $1 }, export: "requestedAt")
    columns.required("seen_at", .timestamptz, { $0.seenAt }, { $0.seenAt = $1 }, merge: .greatest)
    columns.written("deadline", .timestamptz) { $0.deadline }
    columns.required(
      "state", .name(of: RefundRequest.State.self), { $0.state }, { $0.state = $1 }, export: "state")
    columns.optional("answer", .bytea, { $0.answer?.body }, { $0.answer = try $1.map(answer) }, export: "answer")
    columns.optional(
      "answered_by", .text, { $0.answeredBy?.rawValue },
      { $0.answeredBy = $1.flatMap(RefundRequest.Answerer.init(rawValue:)) }, export: "answeredBy")
    columns.optional(
      "consent_time", .timestamptz, { $0.consent?.time },
      { $0.consent = $1.map { Consent(isGiven: true, textVersion: "", time: $0) } })
    columns.optional(
      "consent_version", .text, { $0.consent?.textVersion }, { $0.consent?.textVersion = $1 ?? "" })
    columns.required("attempts", .integer, { Int32(clamping: $0.attempts) }, { $0.attempts = Int($1) })
    columns.optional("last_error", .text, { $0.lastError }, { $0.lastError = $1 })
    columns.optional("due_at", .timestamptz, { $0.dueAt }, { $0.dueAt = $1 })
    columns.optional("ended_at", .timestamptz, { $0.endedAt }, { $0.endedAt = $1 }, export: "endedAt")
    columns.other("revision", "bigint")
  }

  /// The decisions of customers. Each is one statement's (``Consents``).
  static let consents = Table<Consent>("consents", key: ["publisher_id", "customer_id", "time"]) { columns in
    columns.other("publisher_id", "bigint")
    columns.other("customer_id", "text", person: .withRow)
    columns.other("time", "timestamptz", export: "time")
    columns.other("is_given", "boolean", export: "consented")
    columns.other("text_version", "text", export: "textVersion")
    columns.other("recorded_at", "timestamptz", export: "recordedAt")
  }

  private static func answer(_ body: [UInt8]) throws -> ConsumptionAnswer {
    guard let answer = ConsumptionAnswer(body: body) else { throw UnreadableValue() }
    return answer
  }

  /// The present decision of a customer, from the columns `time`, `is_given` and `text_version`; `nil` without one.
  static func consent(_ row: PostgresRow) throws -> Consent? {
    guard let time = try row.time("time"), let isGiven = try row.bool("is_given") else { return nil }
    return Consent(isGiven: isGiven, textVersion: try row.text("text_version") ?? "", time: time)
  }

  // MARK: Writing

  /// Writes new requests.
  static let insert = table.insert("insert refund requests")

  /// What changes about a request.
  static let changes = table.only(
    "seen_at", "state", "answer", "answered_by", "consent_time", "consent_version", "attempts", "last_error", "due_at",
    "ended_at")

  private static let change = """
    UPDATE refund_requests t SET \(changes.assignments), revision = t.revision + 1
    FROM \(changes.source) WHERE \(changes.isSame)
    """

  /// Writes ``changes``. The rows are locked.
  static let update = PostgresStatement("update refund requests", change)

  /// Writes ``changes`` of one request, unless somebody has changed it since it was read at a revision.
  static let record = PostgresStatement(
    "record a refund request", change + " AND t.revision = $\(changes.nextParameter) RETURNING t.customer_id")

  /// When Apple asked last.
  static let sightings = table.only("seen_at")

  /// Notes that Apple has asked again. It is no new revision: a worker that makes a call meanwhile writes its result.
  static let see = sightings.update("see refund requests")
}

extension RefundRequest: ReadableRecord {
  static let blank = RefundRequest(
    id: "", purchase: PurchaseKey(publisherId: 0, environment: "", originalTransactionId: ""), transactionId: "",
    bundleId: "", productId: "", kind: .consumable, customerId: nil, reason: nil, requestedAt: 0)
  var title: String { "refund request \(id)" }
}

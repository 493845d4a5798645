import Domain
import Formats
import Postgres

/// The columns of `refund_requests`.
enum RefundRequestRow {
  private static let names = [
    "publisher_id", "id", "environment", "original_transaction_id", "transaction_id", "bundle_id", "product_id", "kind",
    "customer_id", "reason", "requested_at", "seen_at", "state", "answer", "answered_by", "consent_time",
    "consent_version", "attempts", "last_error", "due_at", "ended_at",
  ]

  /// How many columns ``request(_:)`` reads.
  static let width = names.count

  /// The columns of a row of `table`.
  static func columns(_ table: String) -> String { names.map { "\(table).\($0)" }.joined(separator: ", ") }

  /// Reads a row.
  static func request(_ row: PostgresRow) throws -> RefundRequest {
    guard let publisher = row.int64(0), let id = row.text(1), let environment = row.text(2), let original = row.text(3),
      let transaction = row.text(4), let bundle = row.text(5), let product = row.text(6),
      let kind = row.text(7).flatMap(ProductKind.init(rawValue:)), let requested = row.time(10),
      let state = row.text(12).flatMap(RefundRequest.State.init(rawValue:))
    else { throw UnreadableRecord("refund request \(row.text(1) ?? "")") }
    let answer = row.bytes(13).flatMap { ConsumptionAnswer(body: $0) }
    guard answer != nil || row.bytes(13) == nil else { throw UnreadableRecord("the answer of refund request \(id)") }
    return RefundRequest(
      id: id,
      purchase: PurchaseKey(publisherId: publisher, environment: environment, originalTransactionId: original),
      transactionId: transaction, bundleId: bundle, productId: product, kind: kind, customerId: row.text(8),
      reason: row.text(9), requestedAt: requested, seenAt: row.time(11), state: state, answer: answer,
      answeredBy: row.text(14).flatMap(RefundRequest.Answerer.init(rawValue:)),
      consent: row.time(15).map { Consent(isGiven: true, textVersion: row.text(16) ?? "", time: $0) },
      attempts: Int(row.int32(17) ?? 0), lastError: row.text(18), dueAt: row.time(19), endedAt: row.time(20))
  }

  /// The present decision of a customer, from three columns: time, is_given, text_version.
  static func consent(_ row: PostgresRow, from start: Int) -> Consent? {
    guard let time = row.time(start), let isGiven = row.bool(start + 1) else { return nil }
    return Consent(isGiven: isGiven, textVersion: row.text(start + 2) ?? "", time: time)
  }

  // MARK: Writing

  /// Writes new requests.
  static let insert = PostgresStatement(
    "insert refund requests",
    """
    INSERT INTO refund_requests (\(names.joined(separator: ", ")), deadline)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::bytea[], $15::text[],
      $16::timestamptz[], $17::text[], $18::integer[], $19::text[], $20::timestamptz[], $21::timestamptz[],
      $22::timestamptz[])
    """)

  /// The parameters of ``insert``.
  static func arrays(_ rows: [RefundRequest]) -> [PostgresParameter] {
    [
      .int64s(rows.map(\.purchase.publisherId)), .texts(rows.map(\.id)), .texts(rows.map(\.purchase.environment)),
      .texts(rows.map(\.purchase.originalTransactionId)), .texts(rows.map(\.transactionId)),
      .texts(rows.map(\.bundleId)), .texts(rows.map(\.productId)), .texts(rows.map(\.kind.rawValue)),
      .texts(rows.map(\.customerId)), .texts(rows.map(\.reason)), .times(rows.map(\.requestedAt)),
    ] + changes(rows).dropFirst(2) + [.times(rows.map(\.deadline))]
  }

  /// Changes requests. The rows are locked.
  static let update = PostgresStatement(
    "update refund requests",
    """
    UPDATE refund_requests r SET \(assignments)
    FROM \(changed) WHERE r.publisher_id = n.publisher_id AND r.id = n.id
    """)

  /// Notes that Apple has asked again. It is no new revision: a worker that makes a call meanwhile writes its outcome.
  static let see = PostgresStatement(
    "see refund requests",
    """
    UPDATE refund_requests r SET seen_at = greatest(r.seen_at, n.seen_at)
    FROM unnest($1::bigint[], $2::text[], $3::timestamptz[]) AS n (publisher_id, id, seen_at)
    WHERE r.publisher_id = n.publisher_id AND r.id = n.id
    """)

  /// The parameters of ``see``.
  static func sightings(_ rows: [RefundRequest]) -> [PostgresParameter] {
    [.int64s(rows.map(\.purchase.publisherId)), .texts(rows.map(\.id)), .times(rows.map(\.seenAt))]
  }

  /// Changes one request, unless somebody has changed it since it was read at a revision.
  static let record = PostgresStatement(
    "record a refund request",
    """
    UPDATE refund_requests r SET \(assignments)
    FROM \(changed) WHERE r.publisher_id = n.publisher_id AND r.id = n.id AND r.revision = $13
    RETURNING r.customer_id
    """)

  private static let assignments = """
    seen_at = greatest(r.seen_at, n.seen_at), state = n.state, answer = n.answer, answered_by = n.answered_by,
      consent_time = n.consent_time, consent_version = n.consent_version, attempts = n.attempts,
      last_error = n.last_error, due_at = n.due_at, ended_at = n.ended_at, revision = r.revision + 1
    """

  private static let changed = """
    unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::text[], $5::bytea[], $6::text[], $7::timestamptz[],
      $8::text[], $9::integer[], $10::text[], $11::timestamptz[], $12::timestamptz[])
      AS n (publisher_id, id, seen_at, state, answer, answered_by, consent_time, consent_version, attempts, last_error,
        due_at, ended_at)
    """

  /// The parameters of ``update``, and the first ones of ``record``.
  static func changes(_ rows: [RefundRequest]) -> [PostgresParameter] {
    [
      .int64s(rows.map(\.purchase.publisherId)), .texts(rows.map(\.id)), .times(rows.map(\.seenAt)),
      .texts(rows.map(\.state.rawValue)), .bytes(rows.map { $0.answer?.body }),
      .texts(rows.map(\.answeredBy?.rawValue)),
      .times(rows.map(\.consent?.time)), .texts(rows.map(\.consent?.textVersion)),
      .int32s(rows.map { Int32(clamping: $0.attempts) }), .texts(rows.map(\.lastError)), .times(rows.map(\.dueAt)),
      .times(rows.map(\.endedAt)),
    ]
  }
}

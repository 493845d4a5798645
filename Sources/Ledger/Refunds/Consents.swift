public import Domain
public import EventLoop
import JSON
public import Postgres

/// The decisions of customers whether Apple may be told about the consumption of their purchases.
///
/// Every method throws `PostgresError`. A change may be asked for again after any failure.
@LoopActor
public struct Consents {
  private let postgres: PostgresClient

  /// Creates a store.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Keeps a decision, with its row of the audit log, and lets a worker look at the customer's open requests: the
  /// policy may answer them now. Of two decisions of the same time the refusal counts, whichever came last.
  ///
  /// - Parameter isRequired: whether the publisher must have put the customer.
  /// - Returns: the present decision; `nil` if the publisher has no such customer.
  public func put(
    _ consent: Consent, of customer: CustomerKey, isRequired: Bool
  ) async throws -> (present: Consent?, isKnown: Bool) {
    let key: [PostgresParameter] = [.id(customer.publisherId), .id(customer.id)]
    return try await postgres.repeatingConflicts { transaction in
      let row = try await transaction.query(PostgresQuery(.lockConsenting, key)).first
      let isRegistered = try row?.bool("is_registered") ?? false
      guard !isRequired || isRegistered else { return (nil, false) }
      let isNew =
        try await transaction.query(
          PostgresQuery(.putConsent, key + [.time(consent.time), .bool(consent.isGiven), .text(consent.textVersion)])
        ).affected > 0
      let present = PostgresQuery(.readConsent, key)
      guard isNew else { return (try Self.consent(try await transaction.query(present)), true) }
      let audit = AuditEntry(
        publisherId: customer.publisherId, actor: .publisher,
        action: consent.isGiven ? "customer.consented" : "customer.consentRefused", subject: customer.id.text,
        detail: JSONWriter.object { detail in
          detail.member("textVersion", consent.textVersion)
          detail.time("time", consent.time)
        })
      let rows = try await transaction.commit([present, PostgresQuery(.wake, key), AuditEntry.insert([audit])])
      return (try Self.consent(rows[0]), true)
    }
  }

  /// Reads the present decision; `nil` if there is none.
  public func present(of customer: CustomerKey) async throws -> Consent? {
    try Self.consent(
      await postgres.run(PostgresQuery(.readConsent, [.id(customer.publisherId), .id(customer.id)])))
  }

  private static func consent(_ rows: PostgresRows) throws -> Consent? {
    try rows.first.flatMap(RefundRequestRow.consent)
  }
}

extension PostgresStatement {
  fileprivate static let lockConsenting = PostgresStatement(
    "lock a consenting customer",
    "SELECT is_registered FROM customers WHERE publisher_id = $1 AND id = $2 FOR NO KEY UPDATE")

  fileprivate static let putConsent = PostgresStatement(
    "put consent",
    """
    INSERT INTO consents (publisher_id, customer_id, time, is_given, text_version) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (publisher_id, customer_id, time) DO UPDATE
    SET is_given = consents.is_given AND excluded.is_given, text_version = excluded.text_version, recorded_at = now()
    WHERE (consents.is_given OR NOT excluded.is_given)
      AND (consents.is_given, consents.text_version) IS DISTINCT FROM (excluded.is_given, excluded.text_version)
    """)

  fileprivate static let readConsent = PostgresStatement(
    "read consent",
    """
    SELECT time, is_given, text_version FROM consents
    WHERE publisher_id = $1 AND customer_id = $2 ORDER BY time DESC LIMIT 1
    """)

  /// A worker that has taken one of them writes nothing then, and another look follows.
  fileprivate static let wake = PostgresStatement(
    "wake refund requests",
    """
    UPDATE refund_requests SET due_at = now(), revision = revision + 1
    WHERE publisher_id = $1 AND customer_id = $2 AND state = 'open'
    """)
}

public import Domain
import EventLoop
import Postgres

/// What an erasure did, in numbers of rows.
public struct Erasure: Sendable, Equatable {
  /// Purchases that lost their owner.
  public var purchases = 0
  /// Periods of ownership that lost their customer.
  public var ownerships = 0
  /// Finalized synchronizations that lost their customer.
  public var synchronizations = 0
  /// Synchronizations under way: they lost the customer's address, and will finalize without an owner.
  public var openSynchronizations = 0
  /// Deleted events.
  public var events = 0
  /// Events that stay until they are delivered. They are no longer found by the customer.
  public var undeliveredEvents = 0
  /// Attempts to deliver events whose answers were deleted.
  public var answers = 0
  /// Rows of the audit log that lost the customer's id.
  public var auditEntries = 0
  /// Deleted decisions about what Apple may be told.
  public var consents = 0
  /// Requests for refunds that lost their customer.
  public var refundRequests = 0
  /// Deleted grants.
  public var grants = 0
  /// Deleted notes of the console.
  public var notes = 0
  /// Deleted overrides of the sandbox: one at most.
  public var sandboxAccess = 0

  /// Creates an erasure that did nothing.
  public init() {}
}

extension CustomerStore {
  /// Erases a person: the customer, and every link from purchases, synchronizations and events to it.
  ///
  /// The commit locks the purchases before the customer, as a finalization does. A worker that finalizes a job of the
  /// customer's later finds the row in `erased_customers`.
  ///
  /// - Parameters:
  ///   - person: who does it at the console; `nil` for a publisher's token.
  ///   - now: the time of the erasure, in milliseconds since 1970. Registrations until then have no owner.
  /// - Returns: `nil` when the ledger knows nothing about the customer. The erasure is noted all the same: a job of the
  ///   customer's may be under way, and Redis and RabbitMQ alone know of it.
  public func erase(
    _ publisher: PublisherId, _ id: CustomerId, by person: String? = nil, now: Int64
  ) async throws -> Erasure? {
    try await postgres.repeatingConflicts { try await Self.erase(publisher, id, by: person, now: now, in: $0) }
  }

  private static func erase(
    _ publisher: PublisherId, _ id: CustomerId, by person: String?, now: Int64, in transaction: PostgresTransaction
  ) async throws -> Erasure? {
    let customer: [PostgresParameter] = [.id(publisher), .id(id)]
    let key = CustomerKey(publisherId: publisher, id: id)
    let standIn = ErasedCustomer.standIn(for: key)
    let wasKnown =
      try await transaction.query([
        PostgresQuery(.lockPurchases, customer), PostgresQuery(.claimPerson, customer),
        PostgresQuery(.lockPerson, customer),
      ])[1].affected == 0
    let rows = try await transaction.query([
      PostgresQuery(.disown, customer), PostgresQuery(.endOwnerships, customer + [.time(now)]),
      PostgresQuery(.forgetOpen, customer + [.id(standIn)]),
      PostgresQuery(.forgetFinalized, customer + [.id(standIn)]), PostgresQuery(.deleteRepeated, customer),
      PostgresQuery(.forgetAnswers, customer), PostgresQuery(.deleteEvents, customer),
      PostgresQuery(.forgetEvents, customer), PostgresQuery(.forgetAudit, customer + [.id(standIn)]),
      PostgresQuery(.deleteConsents, customer), PostgresQuery(.forgetRefundRequests, customer),
      PostgresQuery(.deleteGrants, customer), PostgresQuery(.deleteNotes, customer),
      PostgresQuery(.deleteSandboxAccess, customer),
    ]).map(\.affected)
    let isFound = wasKnown || rows.contains { $0 > 0 }
    let entry = AuditEntry(publisherId: publisher, by: person, action: "customer.erased", subject: standIn.text)
    _ = try await transaction.commit(
      [
        PostgresQuery(.deleteCustomer, customer),
        PostgresQuery(.noteErasure, [.id(publisher), .bytes(ErasedCustomer.sha256(of: key)), .time(now)]),
      ] + (isFound ? [AuditEntry.insert([entry])] : []))
    var erasure = Erasure()
    (erasure.purchases, erasure.ownerships) = (rows[0], rows[1])
    (erasure.openSynchronizations, erasure.synchronizations) = (rows[2], rows[3] + rows[4])
    (erasure.answers, erasure.events, erasure.undeliveredEvents) = (rows[5], rows[6], rows[7])
    (erasure.auditEntries, erasure.consents, erasure.refundRequests) = (rows[8], rows[9], rows[10])
    (erasure.grants, erasure.notes, erasure.sandboxAccess) = (rows[11], rows[12], rows[13])
    return isFound ? erasure : nil
  }
}

extension PostgresStatement {
  /// In the order of the key, as a finalization locks them.
  fileprivate static let lockPurchases = PostgresStatement(
    "lock a customer's purchases",
    """
    SELECT 1 FROM purchases WHERE publisher_id = $1 AND customer_id = $2
    ORDER BY environment, original_transaction_id FOR NO KEY UPDATE
    """)

  /// A finalization that brings the customer at this moment waits for the erasure, or the erasure for it.
  fileprivate static let claimPerson = PostgresStatement(
    "claim an erased customer",
    "INSERT INTO customers (publisher_id, id, is_registered) VALUES ($1, $2, false) ON CONFLICT DO NOTHING")

  fileprivate static let lockPerson = PostgresStatement(
    "lock an erased customer", "SELECT 1 FROM customers WHERE publisher_id = $1 AND id = $2 FOR UPDATE")

  fileprivate static let disown = PostgresStatement(
    "disown purchases",
    """
    UPDATE purchases SET \(PurchaseRow.table.erasure), had_owner = true, version = version + 1, updated_at = now()
    WHERE publisher_id = $1 AND customer_id = $2
    """)

  fileprivate static let endOwnerships = PostgresStatement(
    "end ownerships of a customer",
    """
    UPDATE ownerships SET \(OwnershipRow.table.erasure), ended_at = coalesce(ended_at, $3)
    WHERE publisher_id = $1 AND customer_id = $2
    """)

  /// The customer's id is part of the key. After a second erasure of one id, a row of the first one may have the key.
  private static let hasNoTwin = """
    NOT EXISTS (
      SELECT 1 FROM synchronizations AS twin
      WHERE twin.publisher_id = $1 AND twin.id = mine.id AND twin.transaction_id = mine.transaction_id
        AND twin.customer_id = $3)
    """

  fileprivate static let forgetOpen = PostgresStatement(
    "forget open synchronizations",
    """
    UPDATE synchronizations AS mine SET \(SynchronizationRow.table.erasure)
    WHERE publisher_id = $1 AND customer_id = $2 AND status <> 'finalized' AND \(hasNoTwin)
    """)

  fileprivate static let forgetFinalized = PostgresStatement(
    "forget finalized synchronizations",
    """
    UPDATE synchronizations AS mine SET \(SynchronizationRow.table.erasure)
    WHERE publisher_id = $1 AND customer_id = $2 AND status = 'finalized' AND \(hasNoTwin)
    """)

  fileprivate static let deleteRepeated = PostgresStatement(
    "delete repeated synchronizations", "DELETE FROM synchronizations WHERE publisher_id = $1 AND customer_id = $2")

  fileprivate static let forgetAnswers = PostgresStatement(
    "forget answers",
    """
    UPDATE attempts SET \(AttemptRow.table.erasure) WHERE answer IS NOT NULL AND event_id IN (
      SELECT id FROM events WHERE publisher_id = $1 AND customer_id = $2)
    """)

  fileprivate static let deleteEvents = PostgresStatement(
    "delete events",
    """
    DELETE FROM events WHERE publisher_id = $1 AND customer_id = $2
      AND NOT EXISTS (SELECT 1 FROM outbox WHERE event_id = events.id)
      AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = events.id)
      AND NOT EXISTS (SELECT 1 FROM owed_events WHERE event_id = events.id)
    """)

  /// ``Retention`` deletes them once nobody is owed them.
  fileprivate static let forgetEvents = PostgresStatement(
    "forget events",
    "UPDATE events SET \(EventRow.table.erasure), erased = true WHERE publisher_id = $1 AND customer_id = $2")

  fileprivate static let forgetAudit = PostgresStatement(
    "forget audit",
    "UPDATE audit SET \(AuditEntry.table.erasure) WHERE publisher_id = $1 AND subject = $2 AND action LIKE 'customer.%'"
  )

  fileprivate static let deleteConsents = PostgresStatement(
    "delete consents", "DELETE FROM consents WHERE publisher_id = $1 AND customer_id = $2")

  /// A worker that has just taken one of them sends what was allowed then. The next look finds no consent.
  fileprivate static let forgetRefundRequests = PostgresStatement(
    "forget refund requests",
    "UPDATE refund_requests SET \(RefundRequestRow.table.erasure) WHERE publisher_id = $1 AND customer_id = $2")

  /// The customer is locked, so nobody gives one meanwhile.
  fileprivate static let deleteGrants = PostgresStatement(
    "delete grants", "DELETE FROM grants WHERE publisher_id = $1 AND customer_id = $2")

  fileprivate static let deleteNotes = PostgresStatement(
    "delete notes", "DELETE FROM customer_notes WHERE publisher_id = $1 AND customer_id = $2")

  fileprivate static let deleteSandboxAccess = PostgresStatement(
    "delete sandbox access", "DELETE FROM sandbox_access WHERE publisher_id = $1 AND customer_id = $2")

  fileprivate static let deleteCustomer = PostgresStatement(
    "delete customer", "DELETE FROM customers WHERE publisher_id = $1 AND id = $2")

  fileprivate static let noteErasure = PostgresStatement(
    "note erasure",
    """
    INSERT INTO erased_customers (publisher_id, id_sha256, erased_at) VALUES ($1, $2, $3)
    ON CONFLICT (publisher_id, id_sha256) DO UPDATE
    SET erased_at = greatest(erased_customers.erased_at, excluded.erased_at)
    """)
}

public import Domain
public import EventLoop
public import Postgres

/// What people at the console note about customers, for their colleagues.
@LoopActor
public struct CustomerNotes {
  private let postgres: PostgresClient

  /// The most notes about one customer.
  public nonisolated static let most: Int64 = 500

  /// Creates the notes of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// What became of a note.
  public enum Answer: Sendable, Equatable {
    /// It is kept, now or since an earlier request with the same id.
    case kept
    /// The customer has ``CustomerNotes/most`` notes.
    case full
    /// The ledger has no such customer, or no longer.
    case unknownCustomer
  }

  /// Keeps a note, with its row of the audit log. The row has no text of it. A second request with the same id changes
  /// nothing.
  ///
  /// The commit locks the customer, so that no note comes behind an erasure.
  ///
  /// - Throws: `PostgresError`.
  public func add(_ note: CustomerNote) async throws -> Answer {
    let customer: [PostgresParameter] = [.id(note.customer.publisherId), .id(note.customer.id)]
    return try await postgres.transaction { transaction in
      guard try await !transaction.query(PostgresQuery(.lockNoted, customer)).isEmpty else { return .unknownCustomer }
      let row = try await transaction.query(PostgresQuery(.countNotes, customer + [.id(note.id)])).first
      if try row?.bool("is_kept") ?? false { return .kept }
      guard try row?.int64("count") ?? 0 < Self.most else { return .full }
      let entry = AuditEntry(
        publisherId: note.customer.publisherId, by: note.person, action: "customer.noted",
        subject: note.customer.id.text)
      _ = try await transaction.query([
        PostgresQuery(.insertNote, CustomerNoteRow.table.parameters([CustomerNoteRow(note: note)])),
        AuditEntry.insert([entry]),
      ])
      return .kept
    }
  }
}

extension PostgresStatement {
  fileprivate static let lockNoted = PostgresStatement(
    "console: lock customer", "SELECT 1 FROM customers WHERE publisher_id = $1 AND id = $2 FOR NO KEY UPDATE")

  fileprivate static let countNotes = PostgresStatement(
    "console: count notes",
    """
    SELECT count(*) AS count, coalesce(bool_or(id = $3), false) AS is_kept FROM customer_notes
    WHERE publisher_id = $1 AND customer_id = $2
    """)

  fileprivate static let insertNote = CustomerNoteRow.table.insert("console: insert note")
}

public import Domain
public import EventLoop
import Formats
import JSON
public import Postgres

/// Reads the audit log.
@LoopActor
public struct AuditLog {
  private let postgres: PostgresClient

  /// Creates a log over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// A page of the log.
  public struct Page: Sendable, Equatable {
    /// The newest first.
    public let entries: [Entry]
    /// Where the next page begins; `nil` on the last one.
    public let nextBefore: Int64?
  }

  /// An entry of the log.
  public struct Entry: Sendable, Equatable {
    /// Its number, which also is where a page behind it begins.
    public let id: Int64
    public let json: [UInt8]
  }

  /// Reads a publisher's entries, the newest first.
  ///
  /// - Parameter before: only entries with smaller numbers; `nil` begins with the newest.
  /// - Throws: `PostgresError`.
  public func entries(_ publisher: PublisherId, before: Int64?, limit: Int) async throws -> Page {
    let rows = try await postgres.run(
      PostgresQuery(
        .readAudit, [.id(publisher), .int64(Int64(0).subtracting(before ?? .max)), .int64(Int64(limit) + 1)]))
    let entries = try rows.prefix(limit).map { row in
      Entry(id: try row.int64("id") ?? 0, json: try Self.document.json(row))
    }
    return Page(entries: entries, nextBefore: rows.count > limit ? entries.last?.id : nil)
  }

  fileprivate nonisolated static let document = AuditEntry.table.document(
    adding: [RowDocument.Column("subject", "subject"), .auditToken])
}

extension RowDocument.Column {
  /// The name of the publisher's token. That of an operator is nobody else's business.
  static let auditToken = RowDocument.Column(
    "CASE WHEN actor LIKE 'publisher:%' THEN split_part(actor, ':', 2) END", "token")
}

extension PostgresStatement {
  /// The newest first: only `audit_newest` has this order.
  static let readAudit = PostgresStatement(
    "read audit",
    "SELECT \(AuditLog.document.sql) FROM audit WHERE publisher_id = $1 AND - id > $2 ORDER BY - id LIMIT $3")
}

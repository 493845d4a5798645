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
    /// Each entry as JSON, the newest first.
    public let entries: [[UInt8]]
    /// Where the next page begins; `nil` on the last one.
    public let nextBefore: Int64?
  }

  /// Reads a publisher's entries, the newest first.
  ///
  /// - Parameter before: only entries with smaller numbers; `nil` begins with the newest.
  /// - Throws: `PostgresError`.
  public func entries(_ publisher: Int64, before: Int64?, limit: Int) async throws -> Page {
    let rows = try await postgres.run(
      PostgresQuery(.readAudit, [.int64(publisher), .int64(before ?? .max), .int64(Int64(limit) + 1)]))
    let shown = rows.prefix(limit)
    return Page(
      entries: try shown.map { try Self.document.json($0) },
      nextBefore: rows.count > limit ? try shown.last?.int64("id") : nil)
  }

  fileprivate nonisolated static let document = AuditEntry.table.document(
    adding: [RowDocument.Column("subject", "subject"), .auditToken])
}

extension RowDocument.Column {
  /// The name of the publisher's token.
  static let auditToken = RowDocument.Column("nullif(split_part(actor, ':', 2), '')", "token")
}

extension PostgresStatement {
  fileprivate static let readAudit = PostgresStatement(
    "read audit",
    "SELECT \(AuditLog.document.sql) FROM audit WHERE publisher_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3")
}

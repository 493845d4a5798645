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
      entries: shown.map { Self.document.json($0) },
      nextBefore: rows.count > limit ? shown.last?.int64(Self.idPlace) : nil)
  }

  fileprivate nonisolated static let document = RowDocument([
    .init("action", "action"), .auditActor, .init("at", "at", .time), .init("detail", "detail", .json),
    .init("id", "id", .number), .init("subject", "subject"), .auditToken,
  ])
  private static let idPlace = 4
}

extension RowDocument.Column {
  /// The actor of an entry, without the name of the token.
  static let auditActor = RowDocument.Column("split_part(actor, ':', 1)", "actor")
  /// The name of the publisher's token.
  static let auditToken = RowDocument.Column("nullif(split_part(actor, ':', 2), '')", "token")
}

extension PostgresStatement {
  fileprivate static let readAudit = PostgresStatement(
    "read audit",
    "SELECT \(AuditLog.document.sql) FROM audit WHERE publisher_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3")
}

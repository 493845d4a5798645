public import Domain
public import EventLoop
import Formats
public import Postgres

/// Reads the audit log of several publishers, with the names of people, for the console.
@LoopActor
public struct ConsoleAudit {
  private let postgres: PostgresClient

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// An entry.
  public struct Entry: Sendable, Equatable {
    public let id: Int64
    /// 0 if nobody can say whose it is.
    public let publisherId: PublisherId
    /// Milliseconds since 1970.
    public let at: Int64
    /// Such as `publisher`.
    public let actor: String
    /// The name of the publisher's token, or of the person; `nil` for another actor.
    public let name: String?
    public let action: String
    public let subject: String
    /// A JSON object without secrets and personal data.
    public let detail: [UInt8]
    /// Where the person was who did it at the console; `nil` for everybody else. Viewers do not see it.
    public let address: String?

    /// Creates an entry.
    public init(
      id: Int64, publisherId: PublisherId, at: Int64, actor: String, name: String? = nil, action: String,
      subject: String,
      detail: [UInt8] = Array("{}".utf8), address: String? = nil
    ) {
      (self.id, self.publisherId, self.at, self.actor) = (id, publisherId, at, actor)
      (self.name, self.action, self.subject, self.detail) = (name, action, subject, detail)
      self.address = address
    }

    /// Whether the subject is a customer's id.
    public var isAboutCustomer: Bool { action.hasPrefix("customer.") }
  }

  /// Takes the column `actor` apart: the actor, and the name of the token or of the person.
  public nonisolated static func who(_ column: String) -> (actor: String, name: String?) {
    let parts = column.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return (parts.first ?? "", parts.count > 1 ? parts[1] : nil)
  }

  /// Reads a page of entries, the newest first.
  ///
  /// - Parameter customer: only the entries about the customer; `nil` for all.
  /// - Throws: `PostgresError`.
  public func entries(
    of publishers: [PublisherId], about customer: CustomerId? = nil, after place: ConsolePlace?, limit: Int
  ) async throws -> ConsoleRows<Entry> {
    guard !publishers.isEmpty else { return ConsoleRows() }
    let page: [PostgresParameter] = [
      .ids(publishers), .int64(Int64(0).subtracting(place?.number ?? .max)), .int64(Int64(limit) + 1),
    ]
    let query =
      customer.map { PostgresQuery(.listConsoleCustomerAudit, page + [.id($0)]) }
      ?? PostgresQuery(.listConsoleAudit, page)
    let rows = try await postgres.run(query)
    return ConsoleRows(try rows.map { try Entry($0) }, limit: limit) { ConsolePlace($0.id, $0.publisherId, "") }
  }
}

extension ConsoleAudit.Entry {
  fileprivate init(_ row: PostgresRow) throws {
    let who = ConsoleAudit.who(try row.text("actor") ?? "")
    let (detail, address) = AuditAddress.split(try row.bytes("detail") ?? [])
    self.init(
      id: try row.int64("id") ?? 0, publisherId: try row.id("publisher_id") ?? 0, at: try row.time("at") ?? 0,
      actor: who.actor, name: who.name, action: try row.text("action") ?? "", subject: try row.text("subject") ?? "",
      detail: detail, address: address)
  }
}

extension PostgresStatement {
  /// Each publisher has its part of the index. The numbers of entries are the fleet's, so they alone are the order.
  static let listConsoleAudit = PostgresStatement(
    "console: list audit",
    """
    SELECT a.id, a.publisher_id, a.at, a.actor, a.action, a.subject, a.detail
    FROM unnest($1::bigint[]) AS seen (id) CROSS JOIN LATERAL (
      SELECT * FROM audit WHERE publisher_id = seen.id AND - id > $2 ORDER BY - id LIMIT $3) a
    ORDER BY a.id DESC LIMIT $3
    """)

  /// Without the sum, PostgreSQL might walk through the publisher's whole log by its numbers.
  fileprivate static let listConsoleCustomerAudit = PostgresStatement(
    "console: list audit of customer",
    """
    SELECT a.id, a.publisher_id, a.at, a.actor, a.action, a.subject, a.detail
    FROM unnest($1::bigint[]) AS seen (id) CROSS JOIN LATERAL (
      SELECT * FROM audit WHERE publisher_id = seen.id AND subject = $4 AND action LIKE 'customer.%' AND - id > $2
      ORDER BY id + 0 DESC LIMIT $3) a
    ORDER BY a.id DESC LIMIT $3
    """)
}

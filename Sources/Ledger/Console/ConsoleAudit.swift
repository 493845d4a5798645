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
    public let publisherId: Int64
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

    /// Creates an entry.
    public init(
      id: Int64, publisherId: Int64, at: Int64, actor: String, name: String? = nil, action: String, subject: String,
      detail: [UInt8] = Array("{}".utf8)
    ) {
      (self.id, self.publisherId, self.at, self.actor) = (id, publisherId, at, actor)
      (self.name, self.action, self.subject, self.detail) = (name, action, subject, detail)
    }

    /// Whether the subject is a customer's id.
    public var isAboutCustomer: Bool { action.hasPrefix("customer.") }
  }

  /// Reads a page of entries, the newest first.
  ///
  /// - Parameter customer: only the entries about the customer; `nil` for all.
  /// - Throws: `PostgresError`.
  public func entries(
    of publishers: [Int64], about customer: CustomerId? = nil, after place: ConsolePlace?, limit: Int
  ) async throws -> ConsoleRows<Entry> {
    guard !publishers.isEmpty else { return ConsoleRows() }
    let page: [PostgresParameter] = [
      .int64s(publishers), .int64(Int64(0).subtracting(place?.number ?? .max)), .int64(Int64(limit) + 1),
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
    let actor = (try row.text("actor") ?? "").split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(
      id: try row.int64("id") ?? 0, publisherId: try row.int64("publisher_id") ?? 0, at: try row.time("at") ?? 0,
      actor: actor.first.map(String.init) ?? "", name: actor.count > 1 ? String(actor[1]) : nil,
      action: try row.text("action") ?? "", subject: try row.text("subject") ?? "",
      detail: try row.bytes("detail") ?? [])
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

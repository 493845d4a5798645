public import Domain
import Postgres

/// What operators see of the notifications that are put aside, and do with them.
extension NotificationStore {
  /// Which of them an operator means.
  public struct AsideFilter: Sendable, Equatable {
    public var publisher: PublisherId?
    /// Only those of these publishers; `nil` for all.
    public var publishers: [PublisherId]?
    public var app: BundleId?
    public var uuid: NotificationUUID?
    /// Only the ones put aside at this time or before, in milliseconds since 1970.
    public var until: Int64?
    public var limit: Int

    /// Creates a filter.
    public init(
      publisher: PublisherId? = nil, publishers: [PublisherId]? = nil, app: BundleId? = nil,
      uuid: NotificationUUID? = nil,
      until: Int64? = nil, limit: Int
    ) {
      (self.publisher, self.publishers, self.app, self.uuid) = (publisher, publishers, app, uuid)
      (self.until, self.limit) = (until, limit)
    }
  }

  /// A notification that is put aside.
  public struct PutAside: Sendable, Equatable {
    public let key: NotificationKey
    public let type: String
    public let subtype: String?
    public let environment: Environment?
    public let bundleId: BundleId?
    public let originalTransactionId: OriginalTransactionId?
    /// In milliseconds since 1970.
    public let time: Int64
    public let reason: String?
    /// What Apple signed.
    public let body: [UInt8]
  }

  /// Lists them, the oldest first.
  ///
  /// - Throws: `PostgresError`.
  public func listPutAside(_ filter: AsideFilter) async throws -> [PutAside] {
    let rows = try await postgres.run(
      PostgresQuery(
        .listPutAside,
        [
          .id(filter.publisher), .id(filter.app), .id(filter.uuid), .time(filter.until),
          .int64(Int64(filter.limit)), filter.publishers.map { .ids($0) } ?? .int64s([]),
          .bool(filter.publishers != nil),
        ]))
    return try rows.map { row in
      PutAside(
        key: try NotificationKey(row), type: try row.text("type") ?? "", subtype: try row.text("subtype"),
        environment: try row.id("environment"), bundleId: try row.id("bundle_id"),
        originalTransactionId: try row.id("original_transaction_id"), time: try row.time("put_aside_at") ?? 0,
        reason: try row.text("put_aside_reason"), body: try row.bytes("body") ?? [])
    }
  }

  /// Lets the next sweep take notifications that are put aside.
  ///
  /// - Parameter audit: what the same commit writes into the audit log.
  /// - Returns: how many still were.
  /// - Throws: `PostgresError`.
  public func bringBack(_ keys: [NotificationKey], _ audit: [AuditEntry]) async throws -> Int {
    try await change(.bringBack, keys, audit)
  }

  /// Deletes notifications that are put aside.
  ///
  /// - Parameter audit: what the same commit writes into the audit log.
  /// - Returns: how many still were.
  /// - Throws: `PostgresError`.
  public func giveUp(_ keys: [NotificationKey], _ audit: [AuditEntry]) async throws -> Int {
    try await change(.giveUp, keys, audit)
  }

  private func change(
    _ statement: PostgresStatement, _ keys: [NotificationKey], _ audit: [AuditEntry]
  ) async throws -> Int {
    guard !keys.isEmpty else { return 0 }
    let query = PostgresQuery(statement, [.ids(keys.map(\.publisherId)), .ids(keys.map(\.uuid))])
    // One implicit transaction.
    return try await postgres.run([query, AuditEntry.insert(audit)])[0].affected
  }
}

extension PostgresStatement {
  fileprivate static let listPutAside = PostgresStatement(
    "list notifications put aside",
    """
    SELECT publisher_id, uuid, type, subtype, environment, bundle_id, original_transaction_id, put_aside_at,
      put_aside_reason, body
    FROM notifications
    WHERE put_aside_at IS NOT NULL AND ($1::bigint IS NULL OR publisher_id = $1)
      AND ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR uuid = $3)
      AND ($4::timestamptz IS NULL OR put_aside_at <= $4) AND (NOT $7::boolean OR publisher_id = ANY ($6::bigint[]))
    ORDER BY put_aside_at, publisher_id, uuid LIMIT $5
    """)

  fileprivate static let bringBack = PostgresStatement(
    "bring notifications back",
    """
    UPDATE notifications k SET put_aside_at = NULL, put_aside_reason = NULL, due_at = now()
    FROM unnest($1::bigint[], $2::text[]) AS n (publisher_id, uuid)
    WHERE k.publisher_id = n.publisher_id AND k.uuid = n.uuid AND k.put_aside_at IS NOT NULL
    """)

  fileprivate static let giveUp = PostgresStatement(
    "give notifications up",
    """
    DELETE FROM notifications k USING unnest($1::bigint[], $2::text[]) AS n (publisher_id, uuid)
    WHERE k.publisher_id = n.publisher_id AND k.uuid = n.uuid AND k.put_aside_at IS NOT NULL
    """)
}

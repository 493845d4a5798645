public import Domain
public import EventLoop
public import Postgres

/// The publisher's side of requests for refunds: reads them, and takes answers.
///
/// Every method throws `PostgresError`, or `UnreadableRecord` for a row that this code cannot read.
@LoopActor
public struct RefundAnswers {
  private let postgres: PostgresClient

  /// Creates a reader.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Where a page of a list ends.
  public struct Place: Sendable, Equatable {
    /// Milliseconds since 1970.
    public let deadline: Int64
    public let id: RefundRequestId

    /// Creates a place.
    public init(deadline: Int64, id: RefundRequestId) {
      self.deadline = deadline
      self.id = id
    }
  }

  /// Reads a request; `nil` if the publisher has none of the id.
  public func request(_ publisherId: PublisherId, _ id: RefundRequestId) async throws -> RefundRequest? {
    try RefundRequestRow.table.records(
      await postgres.run(PostgresQuery(.readRequest, [.id(publisherId), .id(id)]))
    ).first
  }

  /// Reads a page of a publisher's requests, by their deadlines.
  ///
  /// - Parameters:
  ///   - state: of the requests; `nil` for pending ones.
  ///   - place: where the page before it ended; `nil` for the first page.
  public func requests(
    of publisherId: PublisherId, in state: RefundRequest.State? = nil, after place: Place? = nil, limit: Int
  ) async throws -> [RefundRequest] {
    let page: [PostgresParameter] = [
      .id(publisherId), .time(place?.deadline ?? .min), .id(place?.id ?? ""), .int64(Int64(limit)),
    ]
    return try RefundRequestRow.table.records(
      await postgres.run(
        state.map { PostgresQuery(.listRequests, page + [.text($0.rawValue)]) } ?? PostgresQuery(.listPending, page)))
  }

  /// Fulfils the publisher's wish, with a row of the audit log in the same commit. A worker sends an answer then.
  ///
  /// - Parameters:
  ///   - check: looks at the request first.
  ///   - now: milliseconds since 1970.
  /// - Returns: the request as it is now; `nil` if the publisher has none of the id.
  /// - Throws: what `check` throws, or ``RefundRequest/Refusal``, and then nothing has changed.
  public func fulfil(
    _ wish: RefundRequest.Wish, of publisherId: PublisherId, _ id: RefundRequestId, now: Int64,
    check: @LoopActor (RefundRequest) throws -> Void
  ) async throws -> RefundRequest? {
    try await postgres.repeatingConflicts { transaction -> RefundRequest? in
      let rows = try await transaction.query(PostgresQuery(.lockRequest, [.id(publisherId), .id(id)]))
      guard var request = try RefundRequestRow.table.records(rows).first else { return nil }
      try check(request)
      guard try request.fulfil(wish, now: now) else { return request }
      _ = try await transaction.commit([
        PostgresQuery(RefundRequestRow.update, RefundRequestRow.changes.parameters([request])),
        AuditEntry.insert([.refund(wish == .withhold ? "withheld" : "answered", request, by: .publisher)]),
      ])
      return request
    }
  }
}

extension PostgresStatement {
  fileprivate static let readRequest = PostgresStatement(
    "read refund request",
    "SELECT \(RefundRequestRow.table.selected("r")) FROM refund_requests r WHERE r.publisher_id = $1 AND r.id = $2")

  fileprivate static let lockRequest = PostgresStatement(
    "lock refund request",
    """
    SELECT \(RefundRequestRow.table.selected("r")) FROM refund_requests r WHERE r.publisher_id = $1 AND r.id = $2
    FOR NO KEY UPDATE
    """)

  fileprivate static let listPending = PostgresStatement(
    "list pending refund requests",
    """
    SELECT \(RefundRequestRow.table.selected("r")) FROM refund_requests r
    WHERE r.publisher_id = $1 AND r.state IN ('open', 'sending') AND (r.deadline, r.id) > ($2, $3)
    ORDER BY r.deadline, r.id LIMIT $4
    """)

  fileprivate static let listRequests = PostgresStatement(
    "list refund requests",
    """
    SELECT \(RefundRequestRow.table.selected("r")) FROM refund_requests r
    WHERE r.publisher_id = $1 AND r.state = $5 AND (r.deadline, r.id) > ($2, $3)
    ORDER BY r.deadline, r.id LIMIT $4
    """)
}

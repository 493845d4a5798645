public import Domain
public import EventLoop
public import Postgres

/// The requests for refunds that workers look at: the column `due_at` of each. A worker that takes one moves it
/// forward, so nobody else has it for a while. If that worker dies, another one takes it then.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct RefundRequests {
  private let postgres: PostgresClient

  /// Creates the requests of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Takes due requests; of each publisher, the ones that have waited longest.
  ///
  /// - Parameters:
  ///   - shares: the publishers, in the order in which they get their turn.
  ///   - limit: the most requests of all.
  ///   - lease: for so long nobody else takes them.
  ///   - unreadable: gets the error of each request that this process cannot read. It is due again after its lease.
  public func takeDue(
    _ shares: [PublisherShare], limit: Int, lease: Duration, unreadable: (any Error) -> Void
  ) async throws -> [DueRefundRequest] {
    guard limit > 0, !shares.isEmpty else { return [] }
    let rows = try await postgres.run(
      PostgresQuery(
        .takeDue, shares.parameters + [.int64(Int64(limit)), .int64(Int64(lease / .milliseconds(1)))]))
    if rows.isEmpty { return [] }
    let reader = try RefundRequestRow.table.reader(of: rows)
    return rows.readable(unreadable: unreadable) { row in
      DueRefundRequest(
        request: try reader.record(row), consent: try RefundRequestRow.consent(row),
        revision: try row.int64("revision") ?? 0)
    }
  }

  /// Writes down what became of a request, unless somebody has changed it since it was taken. If Apple has taken the
  /// policy's answer, the audit log gets a row in the same commit.
  ///
  /// - Returns: whether it was written.
  public func record(_ request: RefundRequest, at revision: Int64) async throws -> Bool {
    let writing = Self.writing(request, revision)
    guard request.state == .answered, request.answeredBy == .policy else {
      return try await !postgres.run(writing).isEmpty
    }
    return try await postgres.repeatingConflicts { transaction -> Bool in
      guard try await !transaction.query(writing).isEmpty else { return false }
      _ = try await transaction.commit([AuditEntry.insert([.refund("answered", request, by: .policy)])])
      return true
    }
  }

  /// Writes down what became of a request, and tells it in the same commit, unless somebody has changed it since it was
  /// taken.
  ///
  /// - Parameters:
  ///   - event: makes the event of the request as it is written. An erasure may have taken its customer meanwhile.
  ///   - audience: whom the events are told.
  /// - Returns: the event to publish; `nil` if nothing was written.
  public func record(
    _ request: RefundRequest, at revision: Int64, audience: EventAudience, telling event: (RefundRequest) -> Event
  ) async throws -> Told? {
    let told = try await postgres.repeatingConflicts { transaction -> Event? in
      // An erasure that waits for this lock finds the event. Another one has taken the customer from the request.
      let rows = try await transaction.query([
        PostgresQuery(.lockAsking, [.id(request.purchase.publisherId), .id(request.customerId)]),
        Self.writing(request, revision),
      ])
      guard let row = rows[1].first else { return nil }
      var written = request
      written.customerId = try row.id("customer_id")
      let told = event(written)
      _ = try await transaction.commit(Event.tell([told], audience: audience))
      return told
    }
    return told.map { Told([$0]) }
  }

  private static func writing(_ request: RefundRequest, _ revision: Int64) -> PostgresQuery {
    PostgresQuery(RefundRequestRow.record, RefundRequestRow.changes.parameters([request]) + [.int64(revision)])
  }

  /// How many requests have no answer yet, at most a limit, and the nearest deadline of them, in milliseconds since
  /// 1970.
  public func backlog(of publisherIds: [PublisherId], atMost limit: Int) async throws -> (count: Int, deadline: Int64?)
  {
    let row = try await postgres.run(
      PostgresQuery(.backlog, [.ids(publisherIds), .int64(Int64(limit))])
    ).first
    return (Int(try row?.int64("count") ?? 0), try row?.time("deadline"))
  }
}

extension PostgresStatement {
  fileprivate static let lockAsking = PostgresStatement(
    "lock an asking customer", "SELECT 1 FROM customers WHERE publisher_id = $1 AND id = $2 FOR NO KEY UPDATE")

  /// A commit that has a row locked changes it anyway.
  fileprivate static let takeDue = PostgresStatement(
    "take due refund requests",
    """
    WITH due AS (
      SELECT d.* FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS a (publisher_id, most, place)
        CROSS JOIN LATERAL (
          SELECT r.publisher_id, r.id FROM refund_requests r
          WHERE r.publisher_id = a.publisher_id AND r.due_at <= now()
          ORDER BY r.due_at LIMIT a.most FOR NO KEY UPDATE SKIP LOCKED) d
      LIMIT $3),
    taken AS (
      UPDATE refund_requests r SET due_at = now() + $4 * interval '1 millisecond', revision = revision + 1 FROM due
      WHERE r.publisher_id = due.publisher_id AND r.id = due.id
      RETURNING r.*)
    SELECT \(RefundRequestRow.table.selected("t")), t.revision, c.time, c.is_given, c.text_version
    FROM taken t LEFT JOIN LATERAL (
      SELECT time, is_given, text_version FROM consents c
      WHERE c.publisher_id = t.publisher_id AND c.customer_id = t.customer_id
      ORDER BY c.time DESC LIMIT 1) c ON true
    """)

  fileprivate static let backlog = PostgresStatement(
    "backlog of refund requests",
    """
    SELECT (SELECT count(*) FROM (
        SELECT 1 FROM refund_requests
        WHERE publisher_id = ANY($1) AND state IN ('open', 'sending') LIMIT $2) pending) AS count,
      (SELECT min(n.deadline) FROM unnest($1::bigint[]) AS u (publisher_id) CROSS JOIN LATERAL (
        SELECT r.deadline FROM refund_requests r
        WHERE r.publisher_id = u.publisher_id AND r.state IN ('open', 'sending')
        ORDER BY r.deadline LIMIT 1) n) AS deadline
    """)
}

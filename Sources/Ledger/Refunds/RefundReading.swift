import Domain
import Formats
import Postgres

/// What a commit reads when notifications speak of refunds: the latest request about each transaction, locked, and the
/// present decisions of the customers concerned.
///
/// The commit has locked the purchases and the customers before. A customer's decision takes the same lock, so either
/// the commit sees the decision, or the decision sees the request.
struct RefundReading {
  private let names: [RefundRequest.Name]

  init(_ updates: [PurchaseUpdate]) {
    names = Set(
      updates.compactMap { update in
        update.refund.map {
          RefundRequest.Name(
            publisherId: update.key.publisherId, environment: update.key.environment, transactionId: $0.transactionId)
        }
      }
    ).sorted()
  }

  /// Whether there is anything to read.
  var isEmpty: Bool { names.isEmpty }

  /// - Parameter concerned: the statement and the parameters of the customers' decisions.
  func queries(_ concerned: PostgresQuery) -> [PostgresQuery] {
    [
      PostgresQuery(
        .lockRefundRequests,
        [
          .ids(names.map(\.publisherId)), .ids(names.map(\.environment)), .ids(names.map(\.transactionId)),
        ]), concerned,
    ]
  }

  /// Reads the rows of the two statements into a state.
  func read(_ requests: PostgresRows, _ consents: PostgresRows, into state: inout CommitState) throws {
    for request in try RefundRequestRow.table.records(requests) { state.refundRequests[request.name] = request }
    for row in consents {
      guard let publisher = try row.id("publisher_id"), let id: CustomerId = try row.id("customer_id") else {
        continue
      }
      state.consents[CustomerKey(publisherId: publisher, id: id)] = try RefundRequestRow.consent(row)
    }
  }
}

extension PostgresStatement {
  fileprivate static let lockRefundRequests = PostgresStatement(
    "lock refund requests",
    """
    SELECT \(RefundRequestRow.table.selected("r"))
    FROM unnest($1::bigint[], $2::text[], $3::text[]) AS n (publisher_id, environment, transaction_id)
      CROSS JOIN LATERAL (
        SELECT * FROM refund_requests q WHERE q.publisher_id = n.publisher_id AND q.environment = n.environment
          AND q.transaction_id = n.transaction_id
        ORDER BY q.requested_at DESC LIMIT 1 FOR NO KEY UPDATE) r
    """)
}

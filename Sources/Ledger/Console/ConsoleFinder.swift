public import Domain
public import EventLoop
import Formats
public import Postgres

/// Finds what has an id, for the console. Every look-up is exact and uses an index.
///
/// Every method throws `PostgresError`.
@LoopActor
public struct ConsoleFinder {
  private let postgres: PostgresClient

  /// Creates a finder over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Finds everything that has an id, in one trip.
  ///
  /// - Parameters:
  ///   - publishers: nothing of another publisher is found.
  ///   - kinds: what the text may be.
  public func find(
    _ text: String, among publishers: [PublisherId], _ kinds: [ConsoleHit.Kind]
  ) async throws -> [ConsoleHit] {
    guard !publishers.isEmpty, !kinds.isEmpty else { return [] }
    let rows = try await postgres.run(
      kinds.map { kind in
        let value = kind == .email ? Customer.emailKey(text) : text
        var parameters: [PostgresParameter] = [.ids(publishers), .text(value)]
        if kind == .delivery {
          let passedOn = Delivery.notification(named: EventId(text))
          parameters += [.id(passedOn?.publisherId ?? 0), .text(passedOn?.uuid.text ?? "")]
        }
        return PostgresQuery(kind.statement, parameters)
      })
    let hits = try zip(kinds, rows).flatMap { kind, rows in try rows.map { try ConsoleHit(kind, $0) } }
    // What the ledger keeps of an event says more than its attempts.
    let kept = Set(hits.filter { $0.kind == .event }.map(\.publisherId))
    return hits.filter { $0.kind != .delivery || !kept.contains($0.publisherId) }
  }
}

extension ConsoleHit {
  fileprivate init(_ kind: Kind, _ row: PostgresRow) throws {
    let publisher = try row.id("publisher_id") ?? 0
    let environment: Environment? = try row.id("environment")
    let original: OriginalTransactionId? = try row.id("original_transaction_id")
    let customer: CustomerId? = try row.id("customer_id")
    // Of what was passed on, the notification may outlive the attempts.
    let isKept = try kind == .delivery && row.bool("is_attempted") == false
    self.init(
      kind: isKept ? .notification : kind, publisherId: publisher,
      customer: customer.flatMap { $0.isErased || $0.text.isEmpty ? nil : $0 },
      purchase: environment.flatMap { environment in
        original.map { PurchaseKey(publisherId: publisher, environment: environment, originalTransactionId: $0) }
      }, detail: try row.text("detail"))
  }
}

extension ConsoleHit.Kind {
  fileprivate var statement: PostgresStatement {
    switch self {
    case .customer: .findConsoleCustomer
    case .email: .findConsoleEmail
    case .transaction: .findConsoleTransaction
    case .purchase: .findConsolePurchase
    case .synchronization: .findConsoleSynchronization
    case .notification: .findConsoleNotification
    case .event: .findConsoleEvent
    case .delivery: .findConsoleDelivery
    }
  }
}

extension PostgresStatement {
  fileprivate static let findConsoleCustomer = PostgresStatement(
    "console: find customer", isByKeys: true,
    """
    SELECT publisher_id, id AS customer_id, NULL AS environment, NULL AS original_transaction_id, NULL AS detail
    FROM customers WHERE publisher_id = ANY($1) AND id = $2 LIMIT 20
    """)

  fileprivate static let findConsoleEmail = PostgresStatement(
    "console: find e-mail address", isByKeys: true,
    """
    SELECT publisher_id, id AS customer_id, NULL AS environment, NULL AS original_transaction_id, NULL AS detail
    FROM customers WHERE publisher_id = ANY($1) AND email_key = $2 LIMIT 20
    """)

  fileprivate static let findConsoleTransaction = PostgresStatement(
    "console: find transaction", isByKeys: true,
    """
    SELECT publisher_id, NULL AS customer_id, environment, original_transaction_id, product_id AS detail
    FROM transactions WHERE publisher_id = ANY($1) AND transaction_id = $2 LIMIT 20
    """)

  /// The key begins with publisher and environment, so the environments stand here.
  fileprivate static let findConsolePurchase = PostgresStatement(
    "console: find purchase", isByKeys: true,
    """
    SELECT publisher_id, NULL AS customer_id, environment, original_transaction_id, product_id AS detail
    FROM purchases WHERE publisher_id = ANY($1) AND original_transaction_id = $2
      AND environment = ANY('{Production,Sandbox,Xcode,LocalTesting}') LIMIT 20
    """)

  fileprivate static let findConsoleSynchronization = PostgresStatement(
    "console: find synchronization", isByKeys: true,
    """
    SELECT s.publisher_id, s.customer_id, t.environment, t.original_transaction_id, coalesce(s.result, s.status) AS detail
    FROM synchronizations s LEFT JOIN LATERAL (
      SELECT environment, original_transaction_id FROM transactions
      WHERE publisher_id = s.publisher_id AND transaction_id = s.transaction_id ORDER BY environment LIMIT 1) t ON true
    WHERE s.publisher_id = ANY($1) AND s.id = $2 LIMIT 20
    """)

  fileprivate static let findConsoleNotification = PostgresStatement(
    "console: find notification", isByKeys: true,
    """
    SELECT publisher_id, NULL AS customer_id, environment, original_transaction_id,
      concat_ws(' ', type, subtype) AS detail
    FROM notifications WHERE publisher_id = ANY($1) AND uuid = $2 LIMIT 20
    """)

  fileprivate static let findConsoleEvent = PostgresStatement(
    "console: find event", isByKeys: true,
    """
    SELECT publisher_id, customer_id, NULL AS environment, NULL AS original_transaction_id, topic AS detail
    FROM events WHERE publisher_id = ANY($1) AND id = $2 LIMIT 20
    """)

  /// The attempts come from the index `attempts_event`, of each day.
  static let findConsoleDelivery = PostgresStatement(
    "console: find delivery", isByKeys: true,
    """
    SELECT publisher_id, NULL AS customer_id, NULL AS environment, NULL AS original_transaction_id,
      min(detail) AS detail, bool_or(is_attempted) AS is_attempted
    FROM (
      (SELECT publisher_id, topic AS detail, true AS is_attempted FROM attempts
      WHERE publisher_id = ANY($1) AND event_id = $2 LIMIT 20)
      UNION ALL
      SELECT publisher_id, concat_ws(' ', type, subtype), false FROM notifications
      WHERE publisher_id = ANY($1) AND publisher_id = $3 AND uuid = $4) AS delivered
    GROUP BY publisher_id ORDER BY publisher_id LIMIT 20
    """)
}

public import Domain
public import EventLoop
public import Postgres

/// Reads what has happened to a customer and to a purchase, for the console. Each method is one trip, and throws
/// `PostgresError`.
@LoopActor
public struct ConsoleTimeline {
  private let postgres: PostgresClient

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// Reads the newest lines about a customer.
  public func moments(of customer: CustomerKey, limit: Int) async throws -> [ConsoleMoment] {
    let kinds: [(ConsoleMoment.Kind, PostgresStatement)] = [
      (.registration, .readConsoleRegistrations), (.event, .readConsoleEvents), (.attempt, .readConsoleAttempts),
      (.notification, .readConsoleNotifications), (.ownership, .readConsoleOwnerships),
      (.grant, .readConsoleGrants), (.change, .readConsoleChanges),
    ]
    let parameters: [PostgresParameter] = [
      .int64(customer.publisherId), .id(customer.id), .int64(Int64(limit)),
    ]
    let rows = try await postgres.run(kinds.map { PostgresQuery($0.1, parameters) })
    let moments = try zip(kinds, rows).flatMap { kind, rows in try rows.map { try ConsoleMoment(kind.0, $0) } }
    return ConsoleMoment.newestFirst(moments, limit: limit)
  }

  /// Reads the newest notifications about a purchase.
  public func notifications(of purchase: PurchaseKey, limit: Int) async throws -> [ConsoleMoment] {
    try await postgres.run(
      PostgresQuery(
        .readConsolePurchaseNotifications,
        [
          .int64(purchase.publisherId), .id(purchase.originalTransactionId), .id(purchase.environment),
          .int64(Int64(limit)),
        ])
    ).map { try ConsoleMoment(.notification, $0) }
  }
}

extension ConsoleMoment {
  fileprivate init(_ kind: Kind, _ row: PostgresRow) throws {
    self.init(
      kind: kind, at: try row.time("at"), signedAt: try row.time("signed_at"), what: try row.text("what") ?? "",
      id: try row.text("id") ?? "", about: try row.text("about"), outcome: try row.text("outcome"))
  }
}

extension PostgresStatement {
  fileprivate static let readConsoleRegistrations = PostgresStatement(
    "console: read registrations",
    """
    SELECT finalized_at AS at, NULL::timestamptz AS signed_at, kind AS what, id, transaction_id AS about,
      coalesce(result, status) AS outcome
    FROM synchronizations WHERE publisher_id = $1 AND customer_id = $2 ORDER BY finalized_at DESC NULLS FIRST LIMIT $3
    """)

  fileprivate static let readConsoleEvents = PostgresStatement(
    "console: read events",
    """
    SELECT time AS at, NULL::timestamptz AS signed_at, topic AS what, id, NULL AS about, NULL AS outcome
    FROM events WHERE publisher_id = $1 AND customer_id = $2 ORDER BY time DESC LIMIT $3
    """)

  fileprivate static let readConsoleAttempts = PostgresStatement(
    "console: read attempts",
    """
    SELECT a.at, NULL::timestamptz AS signed_at, a.topic AS what, a.event_id AS id, a.endpoint_id AS about,
      concat_ws(' ', a.outcome, a.status::text) AS outcome
    FROM (SELECT id FROM events WHERE publisher_id = $1 AND customer_id = $2 ORDER BY time DESC LIMIT $3) e
      JOIN attempts a ON a.event_id = e.id AND a.publisher_id = $1 ORDER BY a.at DESC LIMIT $3
    """)

  fileprivate static let readConsoleNotifications = PostgresStatement(
    "console: read notifications",
    """
    SELECT n.received_at AS at, n.signed_date AS signed_at, concat_ws(' ', n.type, n.subtype) AS what, n.uuid AS id,
      n.original_transaction_id AS about, CASE WHEN n.applied_at IS NULL THEN 'waiting' ELSE 'applied' END AS outcome
    FROM purchases p JOIN notifications n ON n.publisher_id = p.publisher_id
      AND n.original_transaction_id = p.original_transaction_id AND n.environment = p.environment
    WHERE p.publisher_id = $1 AND p.customer_id = $2 ORDER BY n.received_at DESC LIMIT $3
    """)

  fileprivate static let readConsoleOwnerships = PostgresStatement(
    "console: read ownerships",
    """
    SELECT began_at AS at, NULL::timestamptz AS signed_at, cause AS what, subscription_id::text AS id,
      original_transaction_id AS about, CASE WHEN ended_at IS NULL THEN 'owns it' ELSE 'over' END AS outcome
    FROM ownerships WHERE publisher_id = $1 AND customer_id = $2 ORDER BY began_at DESC LIMIT $3
    """)

  fileprivate static let readConsoleGrants = PostgresStatement(
    "console: read grants",
    """
    SELECT created_at AS at, NULL::timestamptz AS signed_at, reason AS what, id, offer_id AS about,
      CASE WHEN withdrawn_at IS NOT NULL THEN 'withdrawn' WHEN ends_at <= now() THEN 'ended' ELSE 'open' END AS outcome
    FROM grants WHERE publisher_id = $1 AND customer_id = $2 ORDER BY created_at DESC LIMIT $3
    """)

  fileprivate static let readConsoleChanges = PostgresStatement(
    "console: read changes of customer",
    """
    SELECT at, NULL::timestamptz AS signed_at, action AS what, id::text AS id, NULL AS about,
      split_part(actor, ':', 1) AS outcome
    FROM audit WHERE publisher_id = $1 AND subject = $2 AND action LIKE 'customer.%' ORDER BY id DESC LIMIT $3
    """)

  fileprivate static let readConsolePurchaseNotifications = PostgresStatement(
    "console: read notifications of purchase",
    """
    SELECT received_at AS at, signed_date AS signed_at, concat_ws(' ', type, subtype) AS what, uuid AS id,
      original_transaction_id AS about, CASE WHEN applied_at IS NULL THEN 'waiting' ELSE 'applied' END AS outcome
    FROM notifications WHERE publisher_id = $1 AND original_transaction_id = $2 AND environment = $3
    ORDER BY signed_date DESC LIMIT $4
    """)
}

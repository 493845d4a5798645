public import Domain
public import EventLoop
import JSON
public import Postgres

/// Reads what has happened to a customer and to a purchase, for the console.
///
/// Somebody may have 100,000 events. So each kind of line is read by itself, has a time limit, and fails alone.
@LoopActor
public struct ConsoleTimeline {
  private let postgres: PostgresClient

  /// Creates a reader over a client.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// What a reading has found.
  public struct Reading: Sendable, Equatable {
    /// The newest first.
    public var moments: [ConsoleMoment] = []
    /// The kinds that could not be read, or not in time.
    public var missing: [ConsoleMoment.Kind] = []

    /// Creates a reading.
    public init(moments: [ConsoleMoment] = [], missing: [ConsoleMoment.Kind] = []) {
      (self.moments, self.missing) = (moments, missing)
    }
  }

  /// Reads the newest lines about a customer.
  ///
  /// It takes one connection at a time, which no other work waits for.
  ///
  /// - Parameters:
  ///   - end: what is not read until then is missing.
  ///   - onFailure: learns why a kind is missing.
  public func moments(
    of customer: CustomerKey, limit: Int, until end: ContinuousClock.Instant,
    onFailure: @LoopActor (any Error) -> Void
  ) async -> Reading {
    // Those that may take long come last.
    let kinds: [(ConsoleMoment.Kind, [PostgresStatement])] = [
      (.registration, [.readConsoleRegistrations, .readConsoleRegistrationsUnderWay]),
      (.notification, [.readConsoleNotifications]), (.ownership, [.readConsoleOwnerships]),
      (.grant, [.readConsoleGrants]), (.note, [.readConsoleNotes]), (.change, [.readConsoleChanges]),
      (.event, [.readConsoleEvents]),
      (.attempt, [.readConsoleAttempts]),
    ]
    let parameters: [PostgresParameter] = [
      .int64(customer.publisherId), .id(customer.id), .int64(Int64(limit)),
    ]
    var reading = Reading()
    for (kind, statements) in kinds {
      let rest = ContinuousClock.now.duration(to: end)
      guard rest > .zero else {
        reading.missing.append(kind)
        continue
      }
      do {
        reading.moments += try await moments(kind, statements.map { PostgresQuery($0, parameters) }, within: rest)
      } catch {
        onFailure(error)
        reading.missing.append(kind)
      }
    }
    reading.moments = ConsoleMoment.newestFirst(reading.moments, limit: limit)
    return reading
  }

  /// Reads the newest notifications about a purchase.
  ///
  /// - Throws: `PostgresError`.
  public func notifications(
    of purchase: PurchaseKey, limit: Int, within time: Duration
  ) async throws -> [ConsoleMoment] {
    let query = PostgresQuery(
      .readConsolePurchaseNotifications,
      [
        .int64(purchase.publisherId), .id(purchase.originalTransactionId), .id(purchase.environment),
        .int64(Int64(limit)),
      ])
    return try await moments(.notification, [query], within: time)
  }

  private func moments(
    _ kind: ConsoleMoment.Kind, _ queries: [PostgresQuery], within time: Duration
  ) async throws -> [ConsoleMoment] {
    try await postgres.limited(to: time, queries).flatMap { rows in
      try rows.map { try ConsoleMoment(kind, $0, job: kind == .registration ? try $0.bytes("job") : nil) }
    }
  }
}

extension PostgresClient {
  /// Runs statements that may take long, each with a time limit, on a connection of their own.
  func limited(to time: Duration, _ queries: [PostgresQuery]) async throws -> [PostgresRows] {
    let limit = PostgresQuery(.limitTime, [.text(String(max(1, time.wholeMilliseconds)))])
    return try await transaction { Array(try await $0.commit([limit] + queries).dropFirst()) }
  }
}

extension ConsoleMoment {
  /// - Parameter job: of a registration that is under way. It knows when the registration was received.
  fileprivate init(_ kind: Kind, _ row: PostgresRow, job: [UInt8]?) throws {
    let registeredAt = job.flatMap { try? JSONObject(JSONText($0, limits: .own)).int64("registeredAt") }
    self.init(
      kind: kind, at: try registeredAt ?? row.time("at") ?? 0, signedAt: try row.time("signed_at"),
      what: try row.text("what") ?? "",
      id: try row.text("id") ?? "", about: try row.text("about"), outcome: try row.text("outcome"))
  }
}

extension PostgresStatement {
  fileprivate static let limitTime = PostgresStatement(
    "console: limit time", "SELECT set_config('statement_timeout', $1, true)")

  fileprivate static let readConsoleRegistrations = PostgresStatement(
    "console: read registrations",
    """
    SELECT finalized_at AS at, NULL::timestamptz AS signed_at, kind AS what, id, transaction_id AS about,
      coalesce(result, status) AS outcome, NULL::bytea AS job
    FROM synchronizations WHERE publisher_id = $1 AND customer_id = $2 AND finalized_at IS NOT NULL
    ORDER BY finalized_at DESC LIMIT $3
    """)

  /// Its own limit: however many are under way, they hide none that is finalized.
  fileprivate static let readConsoleRegistrationsUnderWay = PostgresStatement(
    "console: read registrations under way",
    """
    SELECT due_at AS at, NULL::timestamptz AS signed_at, kind AS what, id, transaction_id AS about, status AS outcome,
      job
    FROM synchronizations WHERE publisher_id = $1 AND customer_id = $2 AND finalized_at IS NULL
    ORDER BY due_at DESC LIMIT $3
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

  fileprivate static let readConsoleNotes = PostgresStatement(
    "console: read notes",
    """
    SELECT created_at AS at, NULL::timestamptz AS signed_at, text AS what, id, person AS about, NULL AS outcome
    FROM customer_notes WHERE publisher_id = $1 AND customer_id = $2 ORDER BY created_at DESC, id LIMIT $3
    """)

  fileprivate static let readConsoleChanges = PostgresStatement(
    "console: read changes of customer",
    """
    SELECT at, NULL::timestamptz AS signed_at, action AS what, id::text AS id, NULL AS about,
      split_part(actor, ':', 1) AS outcome
    FROM audit WHERE publisher_id = $1 AND subject = $2 AND action LIKE 'customer.%' ORDER BY id + 0 DESC LIMIT $3
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

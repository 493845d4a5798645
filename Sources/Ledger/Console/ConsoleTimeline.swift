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
    /// Whether there are older lines than these.
    public var hasMore = false

    /// Creates a reading.
    public init(moments: [ConsoleMoment] = [], missing: [ConsoleMoment.Kind] = [], hasMore: Bool = false) {
      (self.moments, self.missing, self.hasMore) = (moments, missing, hasMore)
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
      (.grant, [.readConsoleGrants]), (.note, [.readConsoleNotes]),
      (.change, [.readConsoleChanges, .readConsolePurchaseChanges]), (.event, [.readConsoleEvents]),
      (.attempt, [.readConsoleAttempts]), (.change, [.readConsoleRepeats]),
    ]
    let parameters: [PostgresParameter] = [
      .id(customer.publisherId), .id(customer.id), .int64(Int64(limit) + 1),
    ]
    var reading = Reading()
    func miss(_ kind: ConsoleMoment.Kind) {
      if !reading.missing.contains(kind) { reading.missing.append(kind) }
    }
    for (kind, statements) in kinds {
      let rest = ContinuousClock.now.duration(to: end)
      guard rest > .zero else {
        miss(kind)
        continue
      }
      do {
        reading.moments += try await moments(kind, statements.map { PostgresQuery($0, parameters) }, within: rest)
      } catch {
        onFailure(error)
        miss(kind)
      }
    }
    reading.hasMore = reading.moments.count > limit
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
        .id(purchase.publisherId), .id(purchase.originalTransactionId), .id(purchase.environment),
        .int64(Int64(limit)),
      ])
    return try await moments(.notification, [query], within: time)
  }

  private func moments(
    _ kind: ConsoleMoment.Kind, _ queries: [PostgresQuery], within time: Duration
  ) async throws -> [ConsoleMoment] {
    try await postgres.limited(to: time, queries).flatMap { rows in
      try rows.map { row in
        var moment = try ConsoleMoment(kind, row, job: kind == .registration ? try row.bytes("job") : nil)
        if kind == .event {
          (moment.about, moment.detail) = ConsoleMoment.words(ofEvent: try row.bytes("body"))
        }
        return moment
      }
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
      id: try row.text("id") ?? "", about: try row.text("about"), detail: try row.text("outcome"))
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

  /// Nearly every event is short. A long one lists all of a customer's purchases, and says nothing in a word.
  fileprivate static let readConsoleEvents = PostgresStatement(
    "console: read events",
    """
    SELECT time AS at, NULL::timestamptz AS signed_at, topic AS what, id, NULL AS about, NULL AS outcome,
      CASE WHEN octet_length(body) <= 16384 THEN body END AS body
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
    SELECT * FROM (
      SELECT began_at AS at, NULL::timestamptz AS signed_at, cause AS what, subscription_id::text AS id,
        original_transaction_id AS about, CASE WHEN ended_at IS NULL THEN 'owns it' ELSE 'over' END AS outcome
      FROM ownerships WHERE publisher_id = $1 AND customer_id = $2
      UNION ALL
      SELECT ended_at, NULL, 'end of ownership', subscription_id::text, original_transaction_id, 'no longer owns it'
      FROM ownerships WHERE publisher_id = $1 AND customer_id = $2 AND ended_at IS NOT NULL) AS periods
    ORDER BY at DESC LIMIT $3
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
    SELECT at, NULL::timestamptz AS signed_at, action AS what, id::text AS id, NULL AS about, actor AS outcome
    FROM audit WHERE publisher_id = $1 AND subject = $2 AND action LIKE 'customer.%' ORDER BY id + 0 DESC LIMIT $3
    """)

  /// What was done to purchases while the customer owned them, from the index `audit_purchase`. The entry about a new
  /// owner has PostgreSQL's time, and the period that of a role: so there is a minute between them at most.
  static let readConsolePurchaseChanges = PostgresStatement(
    "console: read changes of purchases",
    """
    SELECT DISTINCT a.at, NULL::timestamptz AS signed_at, a.action AS what, a.id::text AS id, a.subject AS about,
      a.actor AS outcome
    FROM (
      SELECT original_transaction_id, began_at, ended_at FROM ownerships WHERE publisher_id = $1 AND customer_id = $2
      ORDER BY began_at DESC LIMIT $3) AS period
    CROSS JOIN LATERAL (
      SELECT id, at, action, subject, actor FROM audit
      WHERE publisher_id = $1 AND subject = period.original_transaction_id
        AND action IN ('purchase.checked', 'purchase.released', 'purchase.transferred')
        AND at >= period.began_at - interval '1 minute'
        AND at <= coalesce(period.ended_at, 'infinity') + interval '1 minute'
      ORDER BY - id LIMIT $3) AS a
    ORDER BY a.at DESC LIMIT $3
    """)

  /// Of the newest entries about events that were sent again and jobs that were tried again, those about the customer.
  /// They come from the index `audit_again`, and name the event or the registration in their detail.
  static let readConsoleRepeats = PostgresStatement(
    "console: read repeats for customer",
    """
    SELECT again.at, NULL::timestamptz AS signed_at, again.action AS what, again.thing AS id, NULL AS about,
      again.actor AS outcome
    FROM (
      SELECT at, action, actor, substring(encode(detail, 'escape') FROM CASE action
        WHEN 'event.resent' THEN '"eventId":"([^"]+)"' ELSE '"id":"([^"]+)"' END) AS thing
      FROM audit WHERE publisher_id = $1 AND action IN ('event.resent', 'jobs.retried') ORDER BY - id LIMIT 200) AS again
    CROSS JOIN LATERAL (
      SELECT 1 AS found FROM events
      WHERE again.action = 'event.resent' AND id = again.thing AND publisher_id = $1 AND customer_id = $2
      UNION ALL
      (SELECT 1 FROM synchronizations
      WHERE again.action = 'jobs.retried' AND publisher_id = $1 AND id = again.thing AND customer_id = $2 LIMIT 1)) AS own
    ORDER BY again.at DESC LIMIT $3
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

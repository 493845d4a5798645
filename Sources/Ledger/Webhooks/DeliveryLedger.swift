public import Domain
public import EventLoop
public import Postgres

/// What the ledger knows about deliveries: which are unfinished, their attempts, and the events for replays.
///
/// Every method throws `PostgresError`.
@LoopActor
public final class DeliveryLedger {
  let postgres: PostgresClient

  private struct Question {
    let delivery: Delivery
    let endpoint: WebhookEndpoint
  }

  /// The most questions of one trip.
  private static let most = 200

  private let batch: TurnBatch<Question, DeliveryState>

  /// Creates it over a client.
  public init(_ postgres: PostgresClient) {
    self.postgres = postgres
    batch = TurnBatch(atMost: Self.most) { try await Self.states(of: $0, postgres) }
  }

  /// Whether the ledger answers.
  public var isReady: Bool { postgres.isReady }

  /// Asks what to do about a delivery. One trip asks for all deliveries of a turn of the loop.
  public func state(of delivery: Delivery, at endpoint: WebhookEndpoint) async throws -> DeliveryState {
    try await batch.ask(Question(delivery: delivery, endpoint: endpoint))
  }

  private static func states(
    of some: [Question], _ postgres: PostgresClient
  ) async throws -> [Result<DeliveryState, any Error>] {
    let facts = try await facts(some, postgres)
    let states = facts.map { DeliveryState($0) }
    let owed = some.indices.filter { states[$0] == .open && facts[$0].lacksRow }
    if !owed.isEmpty { _ = try await postgres.run(owe(some, owed)) }
    return states.map { .success($0) }
  }

  private static func facts(_ some: [Question], _ postgres: PostgresClient) async throws -> [DeliveryState.Facts] {
    var facts = some.map { DeliveryState.Facts(attempt: $0.delivery.attempt) }
    let endpoints = Set(
      some.map { DeliveryBatch.Endpoint(publisher: $0.delivery.publisherId, id: $0.endpoint.id) }
    ).sorted()
    let rows = try await postgres.run([
      PostgresQuery(.readDeliveries, keys(some, Array(some.indices))),
      PostgresQuery(
        .readStates, [.ids(endpoints.map(\.publisher)), .ids(endpoints.map(\.id))]),
    ])
    for row in rows[0] {
      let index = Int(try row.int64("asked") ?? 0)
      if try row.bool("is_unseen") ?? false {
        facts[index].isUnseen = true
      } else {
        facts[index].row = (Int(try row.int64("attempt") ?? 1), try row.time("due_at") ?? 0)
      }
    }
    var states: [DeliveryBatch.Endpoint: (isThere: Bool, isDisabled: Bool)] = [:]
    for row in rows[1] {
      states[.init(publisher: try row.id("publisher") ?? 0, id: try row.id("endpoint") ?? .unknown)] =
        (try row.bool("is_there") ?? false, try row.bool("is_disabled") ?? false)
    }
    for (index, question) in some.enumerated() {
      let state = states[.init(publisher: question.delivery.publisherId, id: question.endpoint.id)]
      facts[index].hasEndpoint = question.endpoint.source == .configuration || state?.isThere ?? false
      facts[index].isDisabled = state?.isDisabled ?? false
    }
    // These are old copies of messages, or messages of a notifier that died: rare, and the log is large.
    let missing = some.indices.filter { facts[$0].row == nil && !facts[$0].isUnseen }
    if missing.isEmpty { return facts }
    for row in try await postgres.run(PostgresQuery(.readPast, keys(some, missing))) {
      let index = Int(try row.int64("asked") ?? 0)
      facts[index].isKnownEvent = try row.bool("is_known") ?? false
      if let number = try row.int64("number"),
        let result = try row.text("outcome").flatMap(DeliveryAttempt.Result.init)
      {
        facts[index].logged = (Int(number), result, try row.time("next_at"))
      }
      facts[index].wasDelivered = try row.bool("was_delivered") ?? false
    }
    return facts
  }

  /// Writes rows for deliveries that have none.
  private static func owe(_ some: [Question], _ indices: [Int]) -> PostgresQuery {
    // In the order of their keys, so that two notifiers write rows in one order.
    let sorted = indices.map { index in
      let (delivery, endpoint) = (some[index].delivery, some[index].endpoint.id)
      let key = DeliveryBatch.Key(event: delivery.eventId, endpoint: endpoint, round: delivery.round)
      return (key: key, delivery: delivery)
    }.sorted { $0.key < $1.key }
    return PostgresQuery(
      .oweDeliveries,
      [
        .ids(sorted.map(\.key.event)), .ids(sorted.map(\.key.endpoint)),
        .texts(sorted.map(\.key.round.text)), .ids(sorted.map(\.delivery.publisherId)),
        .int32s(sorted.map { Int32(clamping: $0.delivery.attempt) }),
      ])
  }

  private static func keys(_ some: [Question], _ indices: [Int]) -> [PostgresParameter] {
    let deliveries = indices.map { some[$0].delivery }
    return [
      .int32s(indices.map { Int32($0) }), .ids(deliveries.map(\.eventId)),
      .ids(indices.map { some[$0].endpoint.id }), .ids(deliveries.map(\.round)),
      .int32s(deliveries.map { Int32(clamping: $0.attempt) }),
    ]
  }
}

extension PostgresStatement {
  /// The row of the delivery itself, and in the first round that of the whole event.
  fileprivate static let readDeliveries = PostgresStatement(
    "read deliveries", isByKeys: true,
    """
    SELECT number AS asked, kept.endpoint_id = '' AS is_unseen, kept.attempt, kept.due_at
    FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::integer[])
      AS asked (number, event, endpoint, round, attempt)
    JOIN deliveries AS kept
      ON kept.event_id = event AND kept.endpoint_id = ANY(ARRAY['', endpoint]) AND kept.round = asked.round
    """)

  fileprivate static let readStates = PostgresStatement(
    "read states of endpoints", isByKeys: true,
    """
    SELECT publisher, endpoint, known.id IS NOT NULL AS is_there, health.disabled_at IS NOT NULL AS is_disabled
    FROM unnest($1::bigint[], $2::text[]) AS asked (publisher, endpoint)
    LEFT JOIN webhook_endpoints AS known ON known.publisher_id = publisher AND known.id = endpoint
    LEFT JOIN webhook_health AS health ON health.publisher_id = publisher AND health.endpoint_id = endpoint
    """)

  fileprivate static let readPast = PostgresStatement(
    "read past attempts",
    """
    SELECT asked.number AS asked, EXISTS (SELECT 1 FROM events WHERE id = event) AS is_known, last.number,
      last.outcome, last.next_at, EXISTS (
        SELECT 1 FROM attempts AS other
        WHERE other.event_id = event AND other.endpoint_id = endpoint AND other.outcome = 'delivered') AS was_delivered
    FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::integer[])
      AS asked (number, event, endpoint, round, attempt)
    LEFT JOIN LATERAL (
      SELECT number, outcome, next_at FROM attempts
      WHERE event_id = event AND endpoint_id = endpoint AND attempts.round = asked.round
      ORDER BY number DESC, at DESC LIMIT 1) AS last ON true
    """)

  /// Another notifier may have made the attempt since the question. Then the log has it.
  fileprivate static let oweDeliveries = PostgresStatement(
    "owe deliveries",
    """
    INSERT INTO deliveries (event_id, endpoint_id, round, publisher_id, attempt, due_at)
    SELECT event, endpoint, owed.round, publisher, owed.attempt, now()
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::integer[])
      AS owed (event, endpoint, round, publisher, attempt)
    WHERE NOT EXISTS (
      SELECT 1 FROM attempts AS made
      WHERE made.event_id = event AND made.endpoint_id = endpoint AND made.round = owed.round
        AND made.number >= owed.attempt)
    ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
    """)
}

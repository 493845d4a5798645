public import Domain
import EventLoop
import JSON
import Postgres

extension DeliveryLedger {
  /// An event that an endpoint has missed.
  public struct Owed: Sendable, Equatable {
    public let eventId: EventId
    /// When a notifier gave it up last, in milliseconds since 1970.
    public let time: Int64

    /// Creates it.
    public init(eventId: EventId, time: Int64) {
      self.eventId = eventId
      self.time = time
    }
  }

  /// Writes a new event for one endpoint, and its delivery.
  ///
  /// - Returns: the delivery to publish.
  /// - Throws: `Delivery.Malformed` besides.
  public func test(_ event: Event, at endpoint: EndpointId) async throws -> Delivery {
    let delivery = try Delivery(event, endpointId: endpoint)
    _ = try await postgres.run([
      Event.insert(sorted: [event]), begin([event.id], rounds: [.first], event.publisherId, endpoint, by: nil),
      AuditEntry.insert([
        .endpoint(.tested, endpoint, of: event.publisherId) { $0.member("eventId", event.id) }
      ]),
    ])
    return delivery
  }

  /// Writes a new event for one endpoint as ``test(_:at:)`` does, for a person at the console. The next sweep of a
  /// notifier finds the delivery, and enqueues it. A second request with the same event changes nothing.
  public func test(_ event: Event, at endpoint: EndpointId, by person: String) async throws {
    try await postgres.transaction { transaction in
      let past = try await transaction.query(PostgresQuery(.hasAttempts, [.id(event.id), .id(endpoint), .text("")]))
      guard past.isEmpty else { return }
      let begun = try await transaction.query([
        Event.insert(sorted: [event]), begin([event.id], rounds: [.first], event.publisherId, endpoint, by: person),
      ])
      guard begun[1].affected > 0 else { return }
      let entry = AuditEntry.endpoint(.tested, endpoint, of: event.publisherId, by: person) {
        $0.member("eventId", event.id)
      }
      _ = try await transaction.query(AuditEntry.insert([entry]))
    }
  }

  /// Begins another round of deliveries of an event to an endpoint, whatever came of earlier ones.
  ///
  /// - Parameter round: a new name.
  /// - Returns: the delivery to publish; `nil` when the ledger does not keep the event, or not any more.
  public func resend(publisher: PublisherId, event id: EventId, to endpoint: EndpointId, round: DeliveryRound)
    async throws
    -> Delivery?
  {
    guard let event = try Event.all(await postgres.run(Event.read([id]))).first, event.publisherId == publisher
    else { return nil }
    let delivery = try Delivery(event, endpointId: endpoint, round: round)
    _ = try await postgres.run([
      begin([id], rounds: [round], publisher, endpoint, by: nil),
      AuditEntry.insert([.endpoint(.resent, endpoint, of: publisher) { $0.member("eventId", id) }]),
    ])
    return delivery
  }

  /// Begins another round as ``resend(publisher:event:to:round:)`` does, for a person at the console. The console has
  /// no broker: the next sweep of a notifier finds the round, and enqueues it.
  ///
  /// - Parameter round: a new name. A second request with the same one changes nothing.
  /// - Returns: whether the ledger keeps the event.
  public func resend(
    publisher: PublisherId, event id: EventId, to endpoint: EndpointId, round: DeliveryRound, by person: String
  ) async throws -> Bool {
    guard let event = try Event.all(await postgres.run(Event.read([id]))).first, event.publisherId == publisher
    else { return false }
    try await postgres.transaction { transaction in
      let past = try await transaction.query(PostgresQuery(.hasAttempts, [.id(id), .id(endpoint), .id(round)]))
      guard past.isEmpty else { return }
      let begun = try await transaction.query(begin([id], rounds: [round], publisher, endpoint, by: person))
      guard begun.affected > 0 else { return }
      let entry = AuditEntry.endpoint(.resent, endpoint, of: publisher, by: person) { $0.member("eventId", id) }
      _ = try await transaction.query(AuditEntry.insert([entry]))
    }
    return true
  }

  /// Returns the events that an endpoint has missed, the oldest first.
  ///
  /// No notifier sends them by itself. Each stays in the list until it is delivered.
  ///
  /// - Parameter since: only events given up at this time or later, in milliseconds since 1970.
  public func owed(
    publisher: PublisherId, endpoint: EndpointId, since: Int64, limit: Int = 100_000
  ) async throws -> [Owed] {
    let rows = try await postgres.run(
      PostgresQuery(.readOwed, [.id(publisher), .id(endpoint), .time(since), .int64(Int64(limit))]))
    return try rows.map { Owed(eventId: try $0.id("event_id") ?? EventId(""), time: try $0.time("given_up_at") ?? 0) }
  }

  /// Begins a round for each missed event. The time at which an event was given up names its round. So if a client asks
  /// twice, the notifier attempts the event once. An event that was delivered since the list was read gets no round.
  ///
  /// - Parameters:
  ///   - isFirst: whether the request begins here; then the audit gets an entry.
  ///   - person: who asks at the console, if that is how. Then the next sweep of a notifier enqueues the deliveries.
  /// - Returns: the deliveries to publish.
  public func recover(
    _ owed: [Owed], publisher: PublisherId, endpoint: EndpointId, isFirst: Bool, by person: String? = nil
  ) async throws -> [Delivery] {
    guard !owed.isEmpty else { return [] }
    let rounds = owed.map { Delivery.roundOfRecovery(givenUpAt: $0.time) }
    let ids = owed.map(\.eventId)
    var queries = [
      begin(ids, rounds: rounds, publisher, endpoint, by: person),
      // The list may be older than a delivery of the same round. That has taken the round's row away, and the row that
      // this request has written in its place would lead to another attempt.
      PostgresQuery(.endDelivered, [.ids(ids), .id(endpoint)]),
    ]
    if isFirst { queries.append(AuditEntry.insert([.endpoint(.recovered, endpoint, of: publisher, by: person)])) }
    queries.append(PostgresQuery(.readOpenRounds, [.ids(ids), .ids(rounds), .id(endpoint)]))
    queries.append(Event.read(ids))
    let answers = try await postgres.run(queries)
    let open = Set(try answers[queries.count - 2].compactMap { row throws -> EventId? in try row.id("event_id") })
    let events = try Event.all(answers[queries.count - 1]).filter { open.contains($0.id) }
    let found = Dictionary(events.map { ($0.id, $0) }) { first, _ in first }
    return zip(owed, rounds).compactMap { owed, round in
      found[owed.eventId].flatMap { try? Delivery($0, endpointId: endpoint, round: round) }
    }
  }

  /// Whoever asks over the API publishes the deliveries. Nobody publishes those of a person at the console, so their
  /// time is that of the longest overdue.
  private func begin(
    _ events: [EventId], rounds: [DeliveryRound], _ publisher: PublisherId, _ endpoint: EndpointId, by person: String?
  ) -> PostgresQuery {
    let sorted = zip(events, rounds).sorted { ($0.0, $0.1) < ($1.0, $1.1) }
    return PostgresQuery(
      .beginRounds,
      [.ids(sorted.map(\.0)), .ids(sorted.map(\.1)), .id(publisher), .id(endpoint), .bool(person != nil)])
  }
}

extension PostgresStatement {
  fileprivate static let beginRounds = PostgresStatement(
    "begin rounds",
    """
    INSERT INTO deliveries (event_id, endpoint_id, round, publisher_id, due_at)
    SELECT event, $4, name, $3, CASE WHEN $5 THEN 'epoch'::timestamptz ELSE now() END
    FROM unnest($1::text[], $2::text[]) AS new (event, name)
    ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
    """)

  fileprivate static let hasAttempts = PostgresStatement(
    "has attempts", "SELECT 1 AS found FROM attempts WHERE event_id = $1 AND endpoint_id = $2 AND round = $3 LIMIT 1")

  /// A statement of its own: it sees the deliveries for whose rows the one before it has waited.
  fileprivate static let endDelivered = PostgresStatement(
    "end delivered rounds",
    """
    DELETE FROM deliveries AS kept USING unnest($1::text[]) AS ended (event)
    WHERE kept.event_id = ended.event AND kept.endpoint_id = $2
      AND EXISTS (
        SELECT 1 FROM attempts AS delivered
        WHERE delivered.event_id = kept.event_id AND delivered.endpoint_id = kept.endpoint_id
          AND delivered.outcome = 'delivered')
      AND kept.round LIKE 'recover-%'
    """)

  fileprivate static let readOpenRounds = PostgresStatement(
    "read open rounds",
    """
    SELECT kept.event_id FROM unnest($1::text[], $2::text[]) AS begun (event, round)
    JOIN deliveries AS kept ON kept.event_id = event AND kept.endpoint_id = $3 AND kept.round = begun.round
    """)

  /// An event that was delivered once, in whatever round, is not missed.
  fileprivate static let readOwed = PostgresStatement(
    "read owed events",
    """
    SELECT event_id, max(at) AS given_up_at FROM attempts AS given_up
    WHERE publisher_id = $1 AND endpoint_id = $2 AND at >= $3 AND outcome IN ('abandoned', 'skipped')
      AND EXISTS (SELECT 1 FROM events WHERE id = given_up.event_id AND publisher_id = $1)
      AND NOT EXISTS (
        SELECT 1 FROM attempts AS delivered
        WHERE delivered.event_id = given_up.event_id AND delivered.endpoint_id = given_up.endpoint_id
          AND delivered.outcome = 'delivered')
    GROUP BY event_id ORDER BY max(at), event_id LIMIT $4
    """)
}

public import Domain
public import EventLoop
import Formats
public import Postgres

/// The events that subscribers still miss: the broker has refused them, or has not answered.
///
/// The fleet's own queue has them. So nobody else waits for a subscriber, and the ledger remembers what it is owed.
@LoopActor
public struct OwedEvents {
  private let postgres: PostgresClient

  /// Creates the owed events of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// An event that a subscriber misses.
  public struct Missed: Sendable, Equatable {
    /// The event's id.
    public let eventId: EventId
    /// The subscriber's name.
    public let subscriber: String
    /// Why, for a person.
    public let cause: String
    /// How long it waits until it is tried again.
    public let pause: Duration

    /// Creates a value.
    public init(eventId: EventId, subscriber: String, cause: String, pause: Duration) {
      self.eventId = eventId
      self.subscriber = subscriber
      self.cause = cause
      self.pause = pause
    }

    /// What the ledger has once.
    fileprivate struct Key: Hashable {
      let eventId: EventId
      let subscriber: ExactText
    }

    fileprivate var key: Key { Key(eventId: eventId, subscriber: ExactText(subscriber)) }
  }

  /// An event that is tried again.
  public struct Owed: Sendable {
    /// The event as it was told first.
    public let event: Event
    /// How often it was tried so far.
    public let tries: Int
  }

  /// What a subscriber is owed.
  public struct State: Sendable, Equatable {
    /// The subscriber's name.
    public let subscriber: String
    /// How many events.
    public let count: Int64
    /// Since when it misses the oldest, in milliseconds since 1970.
    public let oldest: Int64
    /// Why it misses the one that was tried last.
    public let cause: String
    /// The most tries of one of them.
    public let mostTries: Int64
  }

  /// Notes what subscribers miss, and takes the events out of the outbox: all in one commit.
  ///
  /// - Parameter others: what subscribers miss of events that stay in the outbox if they are there.
  /// - Throws: `PostgresError`, and then the outbox is as it was.
  public func owe(_ missed: [Missed], others: [Missed] = []) async throws {
    var known: [Missed.Key: Missed] = [:]
    for each in missed + others { known[each.key] = each }
    let rows = known.values.sorted { ($0.eventId, $0.subscriber) < ($1.eventId, $1.subscriber) }
    _ = try await postgres.run([
      PostgresQuery(
        .owe,
        [
          .ids(rows.map(\.eventId)), .texts(rows.map(\.subscriber)),
          .texts(rows.map { String($0.cause.prefix(500)) }),
          .int64s(rows.map { Int64($0.pause.wholeMilliseconds) }),
        ]), Event.confirmed(missed.map(\.eventId).sorted()),
    ])
  }

  /// Takes events that a subscriber misses, in the order in which they are due. For ``lease`` nobody else gets them.
  ///
  /// - Throws: `PostgresError`.
  public func take(for subscriber: String, limit: Int) async throws -> [Owed] {
    let lease = Int64(Self.lease.wholeMilliseconds)
    let rows = try await postgres.run(
      PostgresQuery(.take, [.text(subscriber), .int64(Int64(limit)), .int64(lease)]))
    return try zip(rows, Event.all(rows)).map { row, event in
      Owed(event: event, tries: Int(try row.int64("tries") ?? 1))
    }
    .sorted { ($0.event.time, $0.event.id) < ($1.event.time, $1.event.id) }
  }

  /// How long events that a worker has taken are its own.
  public nonisolated static let lease = Duration.seconds(30)

  /// Notes that a subscriber has events.
  ///
  /// - Throws: `PostgresError`.
  public func settle(_ eventIds: [EventId], of subscriber: String) async throws {
    guard !eventIds.isEmpty else { return }
    _ = try await postgres.run(PostgresQuery(.settle, [.ids(eventIds.sorted()), .text(subscriber)]))
  }

  /// An event that waits.
  public struct PutOff: Sendable, Equatable {
    public let id: EventId
    /// How long it waits.
    public let pause: Duration
    /// Why the subscriber does not have it.
    public let cause: String

    /// Creates an entry.
    public init(_ id: EventId, pause: Duration, cause: String) {
      (self.id, self.pause, self.cause) = (id, pause, cause)
    }
  }

  /// Puts events off that a subscriber does not take, each for a time of its own.
  ///
  /// - Throws: `PostgresError`.
  public func putOff(_ events: [PutOff], of subscriber: String) async throws {
    guard !events.isEmpty else { return }
    let rows = events.sorted { $0.id < $1.id }
    _ = try await postgres.run(
      PostgresQuery(
        .putOff,
        [
          .ids(rows.map(\.id)), .int64s(rows.map { Int64($0.pause.wholeMilliseconds) }),
          .texts(rows.map { String($0.cause.prefix(500)) }), .text(subscriber),
        ]))
  }

  /// How much one subscriber is owed.
  public struct Debt: Sendable, Equatable {
    /// The subscriber's name.
    public let subscriber: String
    /// How many events; at most ``OwedEvents/mostCounted``.
    public let count: Int64
    /// Since when it misses the oldest, in milliseconds since 1970; `nil` if it misses none.
    public let oldest: Int64?
  }

  /// Counting millions of rows would hold up the commits behind it.
  public nonisolated static let mostCounted: Int64 = 100_000

  /// Counts what subscribers are owed, up to a limit: the named ones, and all others that are owed something.
  ///
  /// - Throws: `PostgresError`.
  public func debts(of subscribers: [String]) async throws -> [Debt] {
    try await postgres.run(PostgresQuery(.debts, [.texts(subscribers), .int64(Self.mostCounted)])).map { row in
      Debt(
        subscriber: try row.text("name") ?? "", count: try row.int64("count") ?? 0, oldest: try row.time("oldest"))
    }
  }

  /// Forgets what a subscriber is owed, some rows at a time.
  ///
  /// - Returns: how many rows are gone.
  /// - Throws: `PostgresError`.
  public func forget(_ subscriber: String, limit: Int) async throws -> Int {
    try await postgres.run(PostgresQuery(.forget, [.text(subscriber), .int64(Int64(limit))])).affected
  }

  /// Tells what each subscriber is owed; one that misses nothing is not there. It reads all rows: not for a process
  /// that has other work.
  ///
  /// - Throws: `PostgresError`.
  public func states() async throws -> [State] {
    try await postgres.run(PostgresQuery(.states, [])).map { row in
      State(
        subscriber: try row.text("subscriber") ?? "", count: try row.int64("count") ?? 0,
        oldest: try row.time("oldest") ?? 0, cause: try row.text("cause") ?? "",
        mostTries: try row.int64("most_tries") ?? 0)
    }
  }

  /// One event that a subscriber misses, for a list.
  public struct Listed: Sendable {
    /// The event's id.
    public let eventId: EventId
    /// The publisher whose event it is.
    public let publisherId: PublisherId
    /// The event's topic.
    public let topic: EventTopic
    /// How often it was tried so far.
    public let tries: Int64
    /// Since when the subscriber misses it, in milliseconds since 1970.
    public let owedSince: Int64
    /// Why, for a person.
    public let cause: String
  }

  /// Lists what a subscriber misses, the oldest first.
  ///
  /// - Throws: `PostgresError`.
  public func list(_ subscriber: String, limit: Int) async throws -> [Listed] {
    try await postgres.run(PostgresQuery(.list, [.text(subscriber), .int64(Int64(limit))])).map { row in
      Listed(
        eventId: try row.id("event_id") ?? EventId(""), publisherId: try row.id("publisher_id") ?? 0,
        topic: try row.id("topic") ?? "", tries: try row.int64("tries") ?? 0,
        owedSince: try row.time("owed_since") ?? 0, cause: try row.text("cause") ?? "")
    }
  }

  /// Gives up what a subscriber has missed for so long.
  ///
  /// - Returns: how many events of each subscriber.
  /// - Throws: `PostgresError`.
  public func giveUp(after age: Duration, limit: Int) async throws -> [String: Int64] {
    let rows = try await postgres.run(
      PostgresQuery(.giveUp, [.int64(Int64(age.wholeMilliseconds)), .int64(Int64(limit))]))
    return try rows.reduce(into: [:]) { counts, row in
      counts[try row.text("subscriber") ?? ""] = try row.int64("count")
    }
  }
}

extension PostgresStatement {
  fileprivate static let owe = PostgresStatement(
    "owe events",
    """
    INSERT INTO owed_events (event_id, subscriber, cause, due_at)
    SELECT n.event_id, n.subscriber, n.cause, now() + n.pause * interval '1 millisecond'
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS n (event_id, subscriber, cause, pause)
    ON CONFLICT (event_id, subscriber) DO NOTHING
    """)

  fileprivate static let take = PostgresStatement(
    "take owed events",
    """
    WITH due AS (
      SELECT event_id, subscriber FROM owed_events WHERE subscriber = $1 AND due_at < now()
      ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED),
    taken AS (
      UPDATE owed_events o SET due_at = now() + $3 * interval '1 millisecond' FROM due
      WHERE o.event_id = due.event_id AND o.subscriber = due.subscriber RETURNING o.event_id, o.tries)
    SELECT taken.tries, \(EventRow.table.selected("e")) FROM taken JOIN events e ON e.id = taken.event_id
    """)

  /// The rows are locked in an array, which is made once, as those of the outbox are (`OutboxRow.delete`).
  fileprivate static let settle = PostgresStatement(
    "settle owed events",
    """
    DELETE FROM owed_events WHERE subscriber = $2 AND event_id = ANY(ARRAY(
      SELECT event_id FROM owed_events WHERE subscriber = $2 AND event_id = ANY($1::text[])
      ORDER BY event_id FOR UPDATE))
    """)

  fileprivate static let putOff = PostgresStatement(
    "put owed events off",
    """
    UPDATE owed_events o SET tries = o.tries + 1, cause = n.cause, due_at = now() + n.pause * interval '1 millisecond'
    FROM unnest($1::text[], $2::bigint[], $3::text[]) AS n (event_id, pause, cause)
    WHERE o.event_id = n.event_id AND o.subscriber = $4
    """)

  fileprivate static let states = PostgresStatement(
    "count owed events",
    """
    SELECT subscriber, count(*) AS count, min(owed_since) AS oldest,
      (array_agg(cause ORDER BY tries DESC, due_at DESC))[1] AS cause, max(tries) AS most_tries
    FROM owed_events GROUP BY subscriber ORDER BY subscriber
    """)

  fileprivate static let debts = PostgresStatement(
    "count debts",
    """
    WITH RECURSIVE found AS (
      (SELECT subscriber FROM owed_events ORDER BY subscriber LIMIT 1)
      UNION ALL
      SELECT (SELECT o.subscriber FROM owed_events o WHERE o.subscriber > f.subscriber ORDER BY 1 LIMIT 1) FROM found f
      WHERE f.subscriber IS NOT NULL)
    SELECT s.name,
      (SELECT count(*) FROM (SELECT FROM owed_events o WHERE o.subscriber = s.name LIMIT $2) c) AS count,
      (SELECT min(o.owed_since) FROM owed_events o WHERE o.subscriber = s.name) AS oldest
    FROM (SELECT unnest($1::text[]) UNION SELECT subscriber FROM found WHERE subscriber IS NOT NULL) AS s (name)
    """)

  fileprivate static let forget = PostgresStatement(
    "forget owed events",
    """
    DELETE FROM owed_events WHERE subscriber = $1 AND event_id = ANY(ARRAY(
      SELECT event_id FROM owed_events WHERE subscriber = $1 ORDER BY event_id LIMIT $2 FOR UPDATE))
    """)

  fileprivate static let list = PostgresStatement(
    "list owed events",
    """
    SELECT o.event_id, e.publisher_id, e.topic, o.tries, o.owed_since, o.cause
    FROM owed_events o JOIN events e ON e.id = o.event_id
    WHERE o.subscriber = $1 ORDER BY o.owed_since, o.event_id LIMIT $2
    """)

  fileprivate static let giveUp = PostgresStatement(
    "give owed events up",
    """
    WITH old AS (
      SELECT event_id, subscriber FROM owed_events WHERE owed_since < now() - $1 * interval '1 millisecond'
      ORDER BY owed_since LIMIT $2 FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM owed_events o USING old WHERE o.event_id = old.event_id AND o.subscriber = old.subscriber
      RETURNING o.subscriber)
    SELECT subscriber, count(*) AS count FROM gone GROUP BY subscriber
    """)
}

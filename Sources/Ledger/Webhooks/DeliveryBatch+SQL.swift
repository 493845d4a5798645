import Domain
import Formats
import Postgres

extension DeliveryBatch {
  /// The queries of the commit. If there are looks, the first one returns the rows that it wrote: event and endpoint.
  /// If endpoints fail, the last one returns since when.
  var queries: [PostgresQuery] {
    var queries: [PostgresQuery] = []
    func add(_ statement: PostgresStatement, _ isNeeded: Bool, _ parameters: @autoclosure () -> [PostgresParameter]) {
      if isNeeded { queries.append(PostgresQuery(statement, parameters())) }
    }
    // A notifier that got the same event and looked first has split it already. So only the one that takes the row of
    // the whole event writes the rows of its deliveries.
    add(
      .splitSeen, !seen.isEmpty,
      Self.columns(seen) + Self.columns(opened) + [.texts(seen.map { $0.environment?.rawValue })])
    add(.advance, !advanced.isEmpty, Self.keys(advanced.map(\.key)) + Self.times(advanced.map(\.next)))
    add(
      .postpone, !postponed.isEmpty, Self.keys(postponed.map(\.key)) + [.times(postponed.map(\.time))])
    add(
      .deleteDelivered, !delivered.isEmpty,
      [.ids(delivered.map(\.event)), .ids(delivered.map(\.endpoint))])
    add(.deleteEnded, !ended.isEmpty, Self.keys(ended))
    add(
      .recover, !healthy.isEmpty, [.ids(healthy.map(\.publisher)), .ids(healthy.map(\.id))])
    add(isRepeated ? .insertAttemptsAgain : .insertAttempts, !log.isEmpty, Self.columns(log))
    add(
      .fail, !failing.isEmpty,
      [
        .ids(failing.map(\.endpoint.publisher)), .ids(failing.map(\.endpoint.id)), .times(failing.map(\.since)),
        .bools(failing.map(\.isConfigured)),
      ])
    add(
      .readFailing, !failing.isEmpty,
      [.ids(failing.map(\.endpoint.publisher)), .ids(failing.map(\.endpoint.id))])
    return queries
  }

  private static func keys(_ keys: [Key]) -> [PostgresParameter] {
    [.ids(keys.map(\.event)), .ids(keys.map(\.endpoint)), .ids(keys.map(\.round))]
  }

  private static func times(_ next: [Next]) -> [PostgresParameter] {
    [.int32s(next.map { Int32(clamping: $0.attempt) }), .times(next.map(\.dueAt))]
  }

  private static func columns(_ seen: [Seen]) -> [PostgresParameter] {
    let known = seen.flatMap { look in look.endpoints.sorted().map { (event: look.event, endpoint: $0) } }
    return [
      .ids(seen.map(\.event)), .ids(seen.map(\.publisher)), .texts(seen.map(\.topic.text.withoutNUL)),
      .int64s(seen.map(\.revision)), .ids(known.map(\.event)), .ids(known.map(\.endpoint)),
    ]
  }

  private static func columns(_ rows: [Step]) -> [PostgresParameter] {
    [
      .ids(rows.map(\.key.event)), .ids(rows.map(\.key.endpoint)), .ids(rows.map(\.next.publisher)),
    ] + times(rows.map(\.next))
  }

  /// The parameters of `insertAttempts`.
  private static func columns(_ log: [(change: DeliveryChange, attempt: DeliveryAttempt)]) -> [PostgresParameter] {
    AttemptRow.table.parameters(log.map { AttemptRow($0.attempt, of: $0.change) }) + [.times(log.map(\.attempt.time))]
  }
}

extension PostgresStatement {
  /// Turns the row of a whole event into rows of its deliveries.
  ///
  /// An endpoint may have come after the notifier read the list. Then the revision is another one, and the statement
  /// adds the endpoints of the ledger that the notifier did not know. While the revision holds, it does not read them:
  /// a publisher may have a thousand.
  fileprivate static let splitSeen = PostgresStatement(
    "split seen", isByKeys: true,
    """
    WITH seen AS (
      DELETE FROM deliveries WHERE event_id = ANY($1::text[]) AND endpoint_id = '' AND round = '' RETURNING event_id),
    outdated AS (
      SELECT event, publisher, topic, environment
      FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $12::text[])
        AS look (event, publisher, topic, revision, environment)
      WHERE event IN (SELECT event_id FROM seen)
        AND coalesce((SELECT now.revision FROM webhook_revisions AS now WHERE now.publisher_id = publisher), 0)
          IS DISTINCT FROM look.revision)
    INSERT INTO deliveries (event_id, endpoint_id, round, publisher_id, attempt, due_at)
    SELECT event, endpoint, '', publisher, attempt, coalesce(due, now())
    FROM unnest($7::text[], $8::text[], $9::bigint[], $10::integer[], $11::timestamptz[])
      AS next (event, endpoint, publisher, attempt, due)
    WHERE event IN (SELECT event_id FROM seen)
    UNION ALL
    SELECT event, missed.id, '', publisher, 1, now()
    FROM outdated JOIN webhook_endpoints AS missed ON missed.publisher_id = publisher AND topic = ANY(missed.topics)
      AND coalesce(missed.environment = outdated.environment, true)
    WHERE NOT EXISTS (
      SELECT 1 FROM unnest($5::text[], $6::text[]) AS known (event, endpoint)
      WHERE known.event = outdated.event AND known.endpoint = missed.id)
    ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
    RETURNING event_id, endpoint_id
    """)

  /// A delivery that was delivered meanwhile, or is further on, stays as it is.
  fileprivate static let advance = PostgresStatement(
    "advance deliveries", isByKeys: true,
    """
    UPDATE deliveries AS kept SET attempt = next.attempt, due_at = coalesce(next.due, now())
    FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::timestamptz[])
      AS next (event, endpoint, round, attempt, due)
    WHERE kept.event_id = next.event AND kept.endpoint_id = next.endpoint AND kept.round = next.round
      AND kept.attempt < next.attempt
    """)

  fileprivate static let postpone = PostgresStatement(
    "postpone deliveries", isByKeys: true,
    """
    UPDATE deliveries AS kept SET due_at = next.due
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS next (event, endpoint, round, due)
    WHERE kept.event_id = next.event AND kept.endpoint_id = next.endpoint AND kept.round = next.round
      AND kept.due_at < next.due
    """)

  /// A delivered event ends every round that began before it. A round that begins later writes its row later.
  fileprivate static let deleteDelivered = PostgresStatement(
    "delete delivered", isByKeys: true,
    """
    DELETE FROM deliveries AS kept USING unnest($1::text[], $2::text[]) AS ended (event, endpoint)
    WHERE kept.event_id = ended.event AND kept.endpoint_id = ended.endpoint
    """)

  fileprivate static let deleteEnded = PostgresStatement(
    "delete ended", isByKeys: true,
    """
    DELETE FROM deliveries AS kept USING unnest($1::text[], $2::text[], $3::text[]) AS ended (event, endpoint, round)
    WHERE kept.event_id = ended.event AND kept.endpoint_id = ended.endpoint AND kept.round = ended.round
    """)

  fileprivate static let recover = PostgresStatement(
    "endpoints succeed", isByKeys: true,
    """
    UPDATE webhook_health AS kept SET failing_since = NULL
    FROM unnest($1::bigint[], $2::text[]) AS healthy (publisher, endpoint)
    WHERE kept.publisher_id = healthy.publisher AND kept.endpoint_id = healthy.endpoint
      AND kept.failing_since IS NOT NULL
    """)

  private static let insertion = """
    INSERT INTO attempts (\(AttemptRow.table.names), at)
    SELECT \(AttemptRow.table.names),
      greatest(least(ended, date_trunc('milliseconds', now())), date_trunc('milliseconds', now()) - interval '1 hour')
    FROM \(AttemptRow.table.source(adding: ("ended", "timestamptz")))
    """

  /// The time is a notifier's. A later time than the ledger's, or one that is older than an hour, counts as that limit:
  /// there may be no partition for it.
  fileprivate static let insertAttempts = PostgresStatement("insert attempts", insertion)

  fileprivate static let insertAttemptsAgain = PostgresStatement(
    "insert attempts again",
    insertion + """

      WHERE NOT EXISTS (
        SELECT 1 FROM attempts AS known
        WHERE known.event_id = n.event_id AND known.endpoint_id = n.endpoint_id AND known.round = n.round
          AND known.number = n.number AND known.at >= now() - interval '1 day')
      """)

  /// Nothing is written about a deleted endpoint.
  fileprivate static let fail = PostgresStatement(
    "endpoints fail",
    """
    INSERT INTO webhook_health (publisher_id, endpoint_id, failing_since)
    SELECT publisher, endpoint, least(since, now())
    FROM unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::boolean[])
      AS failing (publisher, endpoint, since, is_configured)
    WHERE is_configured
      OR EXISTS (SELECT 1 FROM webhook_endpoints AS known WHERE known.publisher_id = publisher AND known.id = endpoint)
    ON CONFLICT (publisher_id, endpoint_id) DO UPDATE SET failing_since = excluded.failing_since
      WHERE webhook_health.failing_since IS NULL
    """)

  fileprivate static let readFailing = PostgresStatement(
    "read failing", isByKeys: true,
    """
    SELECT kept.publisher_id, kept.endpoint_id, kept.failing_since
    FROM unnest($1::bigint[], $2::text[]) AS failing (publisher, endpoint)
    JOIN webhook_health AS kept ON kept.publisher_id = failing.publisher AND kept.endpoint_id = failing.endpoint
    WHERE kept.failing_since IS NOT NULL
    """)
}

public import Domain
import EventLoop
import Postgres

extension WebhookEndpointStore {
  /// Reads the health of endpoints, of the API and of files alike, in the order of the ids.
  public func health(_ publisher: PublisherId, _ ids: [EndpointId]) async throws -> [EndpointHealth] {
    guard !ids.isEmpty else { return [] }
    let rows = try await postgres.run(PostgresQuery(.readHealth, [.id(publisher), .ids(ids)]))
    var found: [EndpointId: EndpointHealth] = [:]
    for row in rows { found[try row.id("endpoint_id") ?? .unknown] = try EndpointHealth(row) }
    return ids.map { found[$0] ?? EndpointHealth() }
  }

  /// Lets an endpoint get events again, for any reason that disabled it. The endpoint gets the whole time to recover.
  ///
  /// - Parameters:
  ///   - isConfigured: whether the endpoint is in the publisher's file. Such an endpoint is not in the ledger.
  ///   - person: who does it at the console; `nil` for a token's request.
  /// - Returns: whether there is such an endpoint.
  public func enable(
    _ publisher: PublisherId, _ id: EndpointId, isConfigured: Bool = false, by person: String? = nil
  ) async throws -> Bool {
    try await changing(publisher) { transaction, _ in
      if !isConfigured { guard try await self.exists(publisher, id, transaction) else { return false } }
      let rows = try await transaction.query(PostgresQuery(.enableEndpoint, [.id(publisher), .id(id)]))
      if rows.affected > 0 {
        _ = try await transaction.query([
          self.raiseRevision(publisher), AuditEntry.insert([.endpoint(.enabled, id, of: publisher, by: person)]),
        ])
      }
      return true
    }
  }

  /// Disables an endpoint at the publisher's request. An endpoint that is already disabled keeps its reason and its
  /// time.
  ///
  /// - Parameter person: who does it at the console; `nil` for a token's request.
  /// - Returns: whether there is such an endpoint.
  public func disable(_ publisher: PublisherId, _ id: EndpointId, by person: String? = nil) async throws -> Bool {
    try await changing(publisher) { transaction, now in
      guard try await self.exists(publisher, id, transaction) else { return false }
      let disabled = EndpointHealth.Disabled(reason: .request, at: now)
      let rows = try await transaction.query(self.disabling(publisher, id, disabled))
      if rows.affected > 0 {
        _ = try await transaction.query([
          self.raiseRevision(publisher), AuditEntry.insert([.endpoint(.disabled, id, of: publisher, by: person)]),
        ])
      }
      return true
    }
  }

  /// Disables an endpoint because of its answers. The same commit writes the event about it, into the outbox too.
  ///
  /// - Parameter audience: whom events are told.
  /// - Returns: the event; `nil` if the endpoint is disabled already, enabled again or deleted meanwhile.
  public func disable(
    _ publisher: PublisherId, _ endpoint: WebhookEndpoint, _ reason: EndpointHealth.Reason, audience: EventAudience
  ) async throws -> Told? {
    let event: Event? = try await changing(publisher) { transaction, now in
      if endpoint.source != .configuration {
        guard try await self.exists(publisher, endpoint.id, transaction) else { return nil }
      }
      let id = endpoint.id
      let found = try await transaction.query(PostgresQuery(.readHealth, [.id(publisher), .ids([id])]))
      let health = try found.first.map { try EndpointHealth($0) } ?? EndpointHealth()
      // Somebody has enabled it since, or it has answered well.
      guard health.disabled == nil, reason == .gone || health.failingSince != nil else { return nil }
      let disabled = EndpointHealth.Disabled(reason: reason, at: now)
      let event = Event(endpoint, of: publisher, disabled, failingSince: health.failingSince)
      let told = Event.tell([event], audience: audience)
      _ = try await transaction.query([self.disabling(publisher, id, disabled), self.raiseRevision(publisher)] + told)
      return event
    }
    return event.map { Told([$0]) }
  }

  private func exists(_ publisher: PublisherId, _ id: EndpointId, _ transaction: PostgresTransaction) async throws
    -> Bool
  {
    try await !transaction.query(PostgresQuery(.hasEndpoint, [.id(publisher), .id(id)])).isEmpty
  }

  private func disabling(_ publisher: PublisherId, _ id: EndpointId, _ disabled: EndpointHealth.Disabled)
    -> PostgresQuery
  {
    PostgresQuery(
      .disableEndpoint, [.id(publisher), .id(id), .time(disabled.at), .text(disabled.reason.rawValue)])
  }
}

extension EndpointHealth {
  /// - Throws: ``UnreadableRecord`` for an unknown reason: an endpoint that looked enabled would get events.
  init(_ row: PostgresRow) throws {
    self.init(failingSince: try row.time("failing_since"))
    guard let at = try row.time("disabled_at") else { return }
    guard let reason = try row.text("disabled_reason").flatMap(Reason.init) else {
      throw UnreadableRecord("the health of endpoint \(try row.text("endpoint_id") ?? "")")
    }
    disabled = Disabled(reason: reason, at: at)
  }
}

extension PostgresStatement {
  fileprivate static let readHealth = PostgresStatement(
    "read health",
    """
    SELECT endpoint_id, failing_since, disabled_at, disabled_reason FROM webhook_health
    WHERE publisher_id = $1 AND endpoint_id = ANY($2::text[])
    """)

  fileprivate static let hasEndpoint = PostgresStatement(
    "has endpoint", "SELECT 1 FROM webhook_endpoints WHERE publisher_id = $1 AND id = $2")

  fileprivate static let enableEndpoint = PostgresStatement(
    "enable endpoint",
    "DELETE FROM webhook_health WHERE publisher_id = $1 AND endpoint_id = $2 AND disabled_at IS NOT NULL")

  fileprivate static let disableEndpoint = PostgresStatement(
    "disable endpoint",
    """
    INSERT INTO webhook_health (publisher_id, endpoint_id, disabled_at, disabled_reason) VALUES ($1, $2, $3, $4)
    ON CONFLICT (publisher_id, endpoint_id)
      DO UPDATE SET disabled_at = excluded.disabled_at, disabled_reason = excluded.disabled_reason
      WHERE webhook_health.disabled_at IS NULL
    """)
}

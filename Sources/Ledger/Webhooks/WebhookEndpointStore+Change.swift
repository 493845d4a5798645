public import Domain
import EventLoop
import Postgres

extension WebhookEndpointStore {
  /// Changes an endpoint: reads it, lets `body` change it, and writes it.
  ///
  /// Other changes of the publisher's endpoints wait meanwhile, so no change undoes another.
  ///
  /// - Parameters:
  ///   - person: who does it at the console; `nil` for a token's request.
  ///   - body: gets the endpoint and the ledger's time in milliseconds since 1970. If it throws, the store passes the
  ///     error on, and nothing has changed.
  /// - Returns: the endpoint as it is now; `nil` when there is none.
  /// - Throws: ``UnreadableSecrets`` for a change of an endpoint whose secrets cannot be decrypted, unless it replaces
  ///   them.
  public func change(
    _ publisher: PublisherId, _ id: EndpointId, by person: String? = nil,
    _ body: @LoopActor (inout WebhookEndpoint, Int64) throws -> Void
  ) async throws -> WebhookEndpoint? {
    try await changing(publisher) { transaction, now in
      let rows = try await transaction.query(PostgresQuery(.readEndpoint, [.id(publisher), .id(id)]))
      guard var row = try self.read(rows).first else { return nil }
      let old = row.endpoint
      try body(&row.endpoint, now)
      let differences = StoredEndpoint.differences(old, row.endpoint)
      guard !differences.isEmpty else { return old }
      row.endpoint.updatedAt = now
      let keys = try await self.keysToStore(transaction)
      _ = try await transaction.query([
        PostgresQuery(.updateEndpoint, try row.parameters(publisher, keys)), self.raiseRevision(publisher),
        AuditEntry.insert([.changed(id, differences, of: publisher, by: person)]),
      ])
      return row.endpoint
    }
  }
}

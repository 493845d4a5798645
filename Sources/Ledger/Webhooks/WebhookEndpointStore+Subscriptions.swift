import Crypto
public import Domain
import EventLoop
import Formats
import Postgres

extension WebhookEndpointStore {
  /// An endpoint as `PUT /3.1/webhook_subscriptions/{topic}` asks for it.
  public struct Subscription: Sendable, Equatable {
    /// The endpoint to create when the topic has no endpoint with this URL yet.
    public var endpoint: WebhookEndpoint
    /// Whether the request gave the key. Then it replaces the key of an existing endpoint.
    public var hasOwnKey: Bool

    /// Creates a subscription. The endpoint's source is `subscription`, and its only topic is that of the request.
    public init(endpoint: WebhookEndpoint, hasOwnKey: Bool) {
      self.endpoint = endpoint
      self.hasOwnKey = hasOwnKey
    }
  }

  /// The result of replacing a topic's list.
  public enum Replacement: Sendable, Equatable {
    /// The present list, in the order of the request, the ids of its new endpoints, and the ids of removed ones.
    case replaced([WebhookEndpoint], new: Set<EndpointId>, removed: [EndpointId])
    /// The publisher would have more than ``limit`` endpoints; nothing has changed.
    case full
  }

  /// Replaces the endpoints that a topic has through `PUT /3.1/webhook_subscriptions/{topic}`.
  ///
  /// The store deletes endpoints that are not in the list. An endpoint whose URL is in the list keeps its id and,
  /// without a new one, its key. A key is new if it differs from the one that was put last: every deployment puts the
  /// same list again, and must not bring back a key that was rotated away. The store does not touch endpoints of the
  /// resource API.
  ///
  /// - Parameter list: must not have the same URL twice.
  public func replace(_ publisher: PublisherId, topic: EventTopic, with list: [Subscription]) async throws
    -> Replacement
  {
    try await changing(publisher) { transaction, now in
      let rows = try await transaction.query(PostgresQuery(.readAllEndpoints, [.id(publisher)]))
      let known = try self.read(rows)
      let changes = SubscriptionReplacement(known, topic: topic, wanted: list, now: now)
      let count = known.count - changes.removed.count + changes.created.count
      if !changes.created.isEmpty, count > Self.limit { return .full }
      if !changes.isEmpty {
        let keys = try await self.keysToStore(transaction)
        _ = try await transaction.query(try self.queries(changes, publisher, keys))
      }
      return .replaced(changes.list, new: Set(changes.created.map(\.endpoint.id)), removed: changes.removed)
    }
  }

  private func queries(
    _ changes: SubscriptionReplacement, _ publisher: PublisherId, _ keys: SealingKeys
  ) throws -> [PostgresQuery] {
    let audit =
      changes.removed.map { AuditEntry.endpoint(.deleted, $0, of: publisher) }
      + changes.created.map { AuditEntry.created($0.endpoint, of: publisher) }
      + changes.updated.map { AuditEntry.changed($0.row.endpoint.id, $0.members, of: publisher) }
    return try deletion(publisher, changes.removed)
      + changes.created.map { PostgresQuery(.insertEndpoint, try $0.parameters(publisher, keys)) }
      + changes.updated.map { PostgresQuery(.updateEndpoint, try $0.row.parameters(publisher, keys)) }
      + [raiseRevision(publisher), AuditEntry.insert(audit)]
  }
}

extension PostgresStatement {
  fileprivate static let readAllEndpoints = PostgresStatement(
    "read all endpoints",
    """
    SELECT \(WebhookRow.table.selected("w")) FROM webhook_endpoints w WHERE w.publisher_id = $1
    ORDER BY w.created_at, w.id
    """)
}

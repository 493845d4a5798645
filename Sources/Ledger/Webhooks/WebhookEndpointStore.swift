public import Crypto
public import Domain
public import EventLoop
import Formats
public import Postgres

/// The webhook endpoints that publishers manage over the API, in the ledger. The endpoints of their files are not here,
/// but the health of both kinds is.
///
/// Each change is one transaction. It locks the publisher's revision first, so the changes of one publisher come one
/// after the other. Every change by a token writes its entry of the audit in the same commit. Every method throws
/// `PostgresError`, and ``UnreadableRecord`` for a row of a newer process.
///
/// The secrets are encrypted with the first of the keys. An endpoint whose secrets this process cannot decrypt is read
/// without them (``WebhookEndpoint/secretsDefect``), and so is one with plain secrets where these are refused. A change
/// of it throws ``UnreadableSecrets``.
@LoopActor
public final class WebhookEndpointStore {
  /// The most endpoints that one publisher may have here.
  public nonisolated static let limit = 1000

  let postgres: PostgresClient

  /// The keys at the time of a call: a role may read its file again.
  let keys: @LoopActor () -> SealingKeys

  /// Whether it neither reads nor writes plain secrets.
  let refusesPlain: Bool

  /// The doors of this build, whose formats endpoints may have.
  private let doors: DoorCatalog

  /// Creates a store over a client. Without keys, it stores secrets as plain text.
  ///
  /// - Parameters:
  ///   - refusesPlain: whether it neither reads nor writes plain secrets.
  ///   - doors: those of this build. An endpoint with the format of another door is a row of a newer process.
  public init(
    _ postgres: PostgresClient, refusesPlain: Bool = false, doors: DoorCatalog,
    keys: @escaping @LoopActor () -> SealingKeys = { SealingKeys() }
  ) {
    self.postgres = postgres
    self.refusesPlain = refusesPlain
    self.doors = doors
    self.keys = keys
  }

  /// A publisher's endpoints at one moment.
  public struct Snapshot: Sendable, Equatable {
    /// In the order of their creation.
    public let endpoints: [WebhookEndpoint]
    /// The ids of disabled endpoints, among them those of the publisher's file that the caller named.
    public let disabled: Set<EndpointId>
    /// Names this state. Another state has another name.
    public let version: String

    /// Whether this process could read every secret. Otherwise it may read more at the next look, with other keys.
    public var isWhole: Bool { endpoints.allSatisfy { $0.secretsDefect == nil } }

    /// Creates a snapshot.
    public init(endpoints: [WebhookEndpoint], disabled: Set<EndpointId> = [], version: String) {
      self.endpoints = endpoints
      self.disabled = disabled
      self.version = version
    }
  }

  /// Reads a publisher's endpoints.
  ///
  /// - Parameters:
  ///   - version: of a snapshot that the caller has.
  ///   - configured: the ids of the publisher's file, for their health. If the ids differ from the last call's, ask
  ///     without a version.
  /// - Returns: `nil` when nothing has changed since that version.
  public func endpoints(
    _ publisher: PublisherId, since version: String? = nil, configured: [EndpointId] = []
  ) async throws -> Snapshot? {
    // The revision is read first. So if somebody changes an endpoint between the statements, the snapshot has an old
    // version, and the next call reads again.
    let known = PostgresParameter.int64(version.flatMap { Int64($0) })
    let rows = try await postgres.run([
      PostgresQuery(.readRevision, [.id(publisher)]),
      PostgresQuery(.readChangedEndpoints, [.id(publisher), known]),
      PostgresQuery(.readDisabled, [.id(publisher), known]),
    ])
    let revision = String(try rows[0].first?.int64("revision") ?? 0)
    guard revision != version else { return nil }
    let endpoints = try read(rows[1]).map(\.endpoint)
    let ids = Set(endpoints.map(\.id)).union(configured)
    let disabled = Set(try rows[2].compactMap { row throws -> EndpointId? in try row.id("endpoint_id") })
    return Snapshot(endpoints: endpoints, disabled: disabled.intersection(ids), version: revision)
  }

  /// Reads an endpoint; `nil` when there is none.
  public func endpoint(_ publisher: PublisherId, _ id: EndpointId) async throws -> WebhookEndpoint? {
    let rows = try await postgres.run(PostgresQuery(.readEndpoint, [.id(publisher), .id(id)]))
    return try read(rows).first?.endpoint
  }

  /// Reads rows with the keys of this moment.
  func read(_ rows: PostgresRows) throws -> [StoredEndpoint] {
    try StoredEndpoint.all(rows, keys(), refusesPlain: refusesPlain, doors)
  }

  /// The result of creating an endpoint.
  public enum Creation: Sendable, Equatable {
    /// The new endpoint, with its times.
    case created(WebhookEndpoint)
    /// The publisher has ``limit`` endpoints.
    case full
  }

  /// Stores a new endpoint and sets its times. If it is there already, it stays as it is.
  public func create(_ publisher: PublisherId, _ endpoint: WebhookEndpoint) async throws -> Creation {
    try await changing(publisher) { transaction, now in
      let rows = try await transaction.query([
        PostgresQuery(.readEndpoint, [.id(publisher), .id(endpoint.id)]),
        PostgresQuery(.countEndpoints, [.id(publisher)]),
      ])
      if let known = try self.read(rows[0]).first { return .created(known.endpoint) }
      guard try rows[1][0].int64("count") ?? 0 < Self.limit else { return .full }
      var new = endpoint
      (new.createdAt, new.updatedAt) = (now, now)
      let keys = try await self.keysToStore(transaction)
      _ = try await transaction.query([
        PostgresQuery(.insertEndpoint, try StoredEndpoint(new).parameters(publisher, keys)),
        self.raiseRevision(publisher),
        AuditEntry.insert([.created(new, of: publisher)]),
      ])
      return .created(new)
    }
  }

  /// Deletes an endpoint and its health. A delivery of its missed events ends with the next attempt.
  ///
  /// - Returns: whether there was one.
  public func delete(_ publisher: PublisherId, _ id: EndpointId) async throws -> Bool {
    try await changing(publisher) { transaction, _ in
      let rows = try await transaction.query(self.deletion(publisher, [id]))
      guard rows[0].affected > 0 else { return false }
      _ = try await transaction.query([
        self.raiseRevision(publisher), AuditEntry.insert([.endpoint(.deleted, id, of: publisher)]),
      ])
      return true
    }
  }

  /// Deletes the rows of endpoints and of their health; the first result counts the endpoints.
  func deletion(_ publisher: PublisherId, _ ids: [EndpointId]) -> [PostgresQuery] {
    [.deleteEndpoints, .deleteHealth].map { PostgresQuery($0, [.id(publisher), .ids(ids)]) }
  }

  /// Runs a transaction that nobody else changes this publisher's endpoints in.
  ///
  /// - Parameter body: gets the ledger's time in milliseconds since 1970.
  func changing<Result>(
    _ publisher: PublisherId, _ body: @LoopActor (PostgresTransaction, Int64) async throws -> Result
  ) async throws -> Result {
    try await postgres.transaction { transaction in
      let rows = try await transaction.query(PostgresQuery(.lockRevision, [.id(publisher)]))
      return try await body(transaction, try rows[0].time("now") ?? 0)
    }
  }

  /// The keys for a row that the transaction is about to write.
  ///
  /// - Throws: ``MissingKeysFile``: otherwise one process without the file would undo what the others protect.
  func keysToStore(_ transaction: PostgresTransaction) async throws -> SealingKeys {
    let keys = keys()
    guard keys.first == nil else { return keys }
    if refusesPlain { throw MissingKeysFile() }
    guard try await transaction.query(PostgresQuery(.hasSealed)).first?.bool("is_there") != true else {
      throw MissingKeysFile()
    }
    return keys
  }

  /// Names a new state of the publisher's endpoints.
  func raiseRevision(_ publisher: PublisherId) -> PostgresQuery { PostgresQuery(.raiseRevision, [.id(publisher)]) }
}

extension PostgresStatement {
  static let readEndpoint = PostgresStatement(
    "read endpoint",
    "SELECT \(WebhookRow.table.selected("w")) FROM webhook_endpoints w WHERE w.publisher_id = $1 AND w.id = $2")

  static let lockRevision = PostgresStatement(
    "lock revision",
    """
    INSERT INTO webhook_revisions (publisher_id, revision) VALUES ($1, 0)
    ON CONFLICT (publisher_id) DO UPDATE SET revision = webhook_revisions.revision
    RETURNING date_trunc('milliseconds', clock_timestamp()) AS now
    """)

  /// A revision is a time in microseconds. So a ledger that was restored from a backup gives no revision twice.
  static let raiseRevision = PostgresStatement(
    "raise revision",
    """
    UPDATE webhook_revisions
    SET revision = greatest(revision + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    WHERE publisher_id = $1
    """)

  fileprivate static let readRevision = PostgresStatement(
    "read revision", "SELECT revision FROM webhook_revisions WHERE publisher_id = $1")

  /// The condition of a statement that reads nothing if the caller has seen the present revision, `$2`.
  private static let isNewer = """
    coalesce((SELECT revision FROM webhook_revisions WHERE publisher_id = $1), 0) IS DISTINCT FROM $2::bigint
    """

  fileprivate static let readChangedEndpoints = PostgresStatement(
    "read changed endpoints",
    """
    SELECT \(WebhookRow.table.selected("w")) FROM webhook_endpoints w WHERE w.publisher_id = $1 AND \(isNewer)
    ORDER BY w.created_at, w.id
    """)

  fileprivate static let readDisabled = PostgresStatement(
    "read disabled",
    "SELECT endpoint_id FROM webhook_health WHERE publisher_id = $1 AND disabled_at IS NOT NULL AND \(isNewer)")

  fileprivate static let hasSealed = PostgresStatement(
    "has sealed", "SELECT EXISTS (SELECT FROM webhook_endpoints WHERE secrets_key IS NOT NULL) AS is_there")

  fileprivate static let countEndpoints = PostgresStatement(
    "count endpoints", "SELECT count(*) AS count FROM webhook_endpoints WHERE publisher_id = $1")

  fileprivate static let deleteEndpoints = PostgresStatement(
    "delete endpoints", "DELETE FROM webhook_endpoints WHERE publisher_id = $1 AND id = ANY($2::text[])")

  fileprivate static let deleteHealth = PostgresStatement(
    "delete health", "DELETE FROM webhook_health WHERE publisher_id = $1 AND endpoint_id = ANY($2::text[])")
}

public import Crypto
import EventLoop
import Formats
public import Postgres

/// Under which keys the secrets of webhook endpoints are encrypted, and how many endpoints each key has.
public struct SecretKeysInUse: Sendable, Equatable {
  /// A key's id, and the number of endpoints.
  public struct Use: Sendable, Equatable {
    /// `nil`: the secrets are plain text.
    public var keyId: String?
    public var endpoints: Int

    /// Creates a use.
    public init(keyId: String?, endpoints: Int) {
      self.keyId = keyId
      self.endpoints = endpoints
    }
  }

  /// In the order of the ids; plain text comes last.
  public var uses: [Use]

  /// Creates a value.
  public init(_ uses: [Use]) { self.uses = uses }

  /// Reads all endpoints' key ids, and none of their secrets.
  @LoopActor
  public static func read(_ postgres: PostgresClient) async throws -> SecretKeysInUse {
    SecretKeysInUse(
      try await postgres.run(PostgresQuery(.countByKey)).map { row in
        Use(keyId: try row.text("secrets_key"), endpoints: Int(try row.int64("count") ?? 0))
      })
  }

  /// How the secrets of an endpoint are kept, as a process with certain keys sees it.
  public enum State: String, Sendable, CaseIterable {
    /// Under the key that the process encrypts with.
    case current
    /// Under another key that the process has.
    case old
    /// Not encrypted.
    case plain
    /// Under a key that the process lacks.
    case missing
  }

  /// The state of a use.
  public static func state(_ use: Use, _ keys: SealingKeys) -> State {
    guard let id = use.keyId else { return .plain }
    return id == keys.first ? .current : keys.has(id) ? .old : .missing
  }

  /// The number of endpoints in each state.
  public func counts(_ keys: SealingKeys) -> [State: Int] {
    var counts = Dictionary(uniqueKeysWithValues: State.allCases.map { ($0, 0) })
    for use in uses { counts[Self.state(use, keys), default: 0] += use.endpoints }
    return counts
  }

  /// The ids of keys that a process lacks.
  public func missing(_ keys: SealingKeys) -> [String] {
    uses.filter { Self.state($0, keys) == .missing }.compactMap(\.keyId)
  }

  /// The ids of keys that secrets need, and that a process would lose with new keys.
  ///
  /// A key that it lacks already is none of them: a file with more keys than before must not be refused for want of one
  /// that is lost for good.
  public func lost(from old: SealingKeys, to new: SealingKeys) -> [String] {
    let dropped = old.dropped(by: new)
    return uses.compactMap(\.keyId).filter { dropped.containsExactly($0) }
  }
}

extension PostgresStatement {
  fileprivate static let countByKey = PostgresStatement(
    "count by key",
    "SELECT secrets_key, count(*) AS count FROM webhook_endpoints GROUP BY secrets_key ORDER BY secrets_key NULLS LAST")
}

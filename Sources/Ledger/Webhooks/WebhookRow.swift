import Crypto
import Domain
import EventLoop
import Formats
import Postgres

/// An endpoint as a row of `webhook_endpoints`.
struct WebhookRow: Equatable {
  var endpoint: WebhookEndpoint
  /// A hash of the key that `PUT /3.1/webhook_subscriptions/{topic}` gave last; `nil` if it never gave one.
  var putKey: String?

  init(_ endpoint: WebhookEndpoint, putKey: String? = nil) {
    self.endpoint = endpoint
    self.putKey = putKey
  }

  /// The columns in the order in which ``init(_:)`` reads them.
  static let columns = """
    id, url, name, topics, format, signature, secrets, retry, payment_method_id, max_concurrency, max_per_second, \
    accepts_self_signed, source, put_key, created_at, updated_at, environment, secrets_key
    """

  /// Reads a row. If this process cannot decrypt the secrets, the endpoint says so (``WebhookEndpoint/secretsDefect``).
  ///
  /// - Parameters:
  ///   - refusesPlain: whether plain secrets are such a defect, too.
  ///   - doors: those of this build.
  /// - Throws: ``UnreadableRecord``. A caller that took such an endpoint for a missing one would lose its events.
  init(
    _ row: PostgresRow, _ publisher: Int64, _ keys: SealingKeys, refusesPlain: Bool, _ doors: DoorCatalog
  ) throws(UnreadableRecord) {
    let id = row.text(0) ?? ""
    func value<Value>(_ name: String, _ value: Value?) throws(UnreadableRecord) -> Value {
      guard let value else { throw UnreadableRecord("the \(name) of endpoint \(id)") }
      return value
    }
    let environment = try row.text(16).map { name throws(UnreadableRecord) in
      try value("environment", WebhookEnvironment(rawValue: name))
    }
    var stored: StoredSecrets
    var defect: WebhookEndpoint.SecretsDefect?
    do throws(StoredSecrets.Unreadable) {
      stored = try StoredSecrets(
        .init(secrets: row.bytes(6) ?? [], keyId: row.text(17), putKey: row.text(13)), publisher, id, keys,
        refusesPlain: refusesPlain)
    } catch {
      guard case .defect(let found) = error else { throw UnreadableRecord("the secrets of endpoint \(id)") }
      (stored, defect) = (StoredSecrets(secrets: [], putKey: nil), found)
    }
    endpoint = WebhookEndpoint(
      id: id, url: try value("url", row.text(1)), name: row.text(2) ?? "", topics: row.texts(3) ?? [],
      format: try value("format", row.text(4).flatMap(doors.format(named:))),
      signature: try value("signature", row.text(5).flatMap(WebhookEndpoint.Signature.init)),
      secrets: stored.secrets,
      retry: try value("retry", row.text(7).flatMap(Self.retry)),
      maxConcurrency: Int(try value("max_concurrency", row.int64(9))), maxPerSecond: row.int64(10).map { Int($0) },
      acceptsSelfSigned: row.bool(11) ?? false, environment: environment, paymentMethodId: row.int64(8),
      source: try value("source", row.text(12).flatMap(WebhookEndpoint.Source.init)),
      createdAt: try value("created_at", row.time(14)), updatedAt: try value("updated_at", row.time(15)))
    endpoint.secretsDefect = defect
    putKey = stored.putKey
  }

  /// The values of ``columns``, after the publisher.
  ///
  /// - Throws: ``UnreadableSecrets``: what nobody can read cannot be written again; `CryptoError`.
  func parameters(_ publisher: Int64, _ keys: SealingKeys) throws -> [PostgresParameter] {
    if let defect = endpoint.secretsDefect {
      throw UnreadableSecrets(publisherId: publisher, endpointId: endpoint.id, defect: defect)
    }
    let stored = try StoredSecrets(secrets: endpoint.secrets, putKey: putKey).columns(publisher, endpoint.id, keys)
    return [
      .int64(publisher), .text(endpoint.id), .text(endpoint.url), .text(endpoint.name),
      .texts(endpoint.topics), .text(endpoint.format.rawValue), .text(endpoint.signature.rawValue),
      .bytes(stored.secrets), .text(Self.text(endpoint.retry)), .int64(endpoint.paymentMethodId),
      .int32(Int32(clamping: endpoint.maxConcurrency)), .int32(endpoint.maxPerSecond.map { Int32(clamping: $0) }),
      .bool(endpoint.acceptsSelfSigned), .text(endpoint.source.rawValue), .text(stored.putKey),
      .time(endpoint.createdAt), .time(endpoint.updatedAt), .text(endpoint.environment?.rawValue), .text(stored.keyId),
    ]
  }

  /// The hash under which the table remembers a given key.
  static func hash(_ endpoint: WebhookEndpoint) -> String {
    Hex.encode(SHA256.hash(endpoint.secrets.first?.key ?? []))
  }

  /// The names of the members that differ, for the audit. Times do not count.
  static func differences(_ old: WebhookEndpoint, _ new: WebhookEndpoint) -> [String] {
    var names: [String] = []
    func compare(_ name: String, _ isEqual: Bool) { if !isEqual { names.append(name) } }
    compare("url", old.url.exact == new.url.exact)
    compare("name", old.name.exact == new.name.exact)
    compare("topics", old.topics.map(\.exact) == new.topics.map(\.exact))
    compare("format", old.format == new.format)
    compare("signature", old.signature == new.signature)
    compare("secrets", old.secrets == new.secrets)
    compare("retry", old.retry == new.retry)
    compare("environment", old.environment == new.environment)
    compare("paymentMethodId", old.paymentMethodId == new.paymentMethodId)
    compare("maxConcurrency", old.maxConcurrency == new.maxConcurrency)
    compare("maxPerSecond", old.maxPerSecond == new.maxPerSecond)
    compare("acceptsSelfSigned", old.acceptsSelfSigned == new.acceptsSelfSigned)
    return names
  }

  private static func text(_ retry: WebhookEndpoint.Retry) -> String {
    switch retry {
    case .standard: "standard"
    case .never: "never"
    case .schedule(let delays): delays.map { String($0.wholeMilliseconds) }.joined(separator: ",")
    }
  }

  /// Reads a schedule. A delay counts from 0 to a week, which is the longest that the API takes.
  static func retry(_ text: String) -> WebhookEndpoint.Retry? {
    switch text {
    case "standard": return .standard
    case "never": return .never
    default:
      let delays = text.split(separator: ",").map { Int64($0) }
      guard !delays.isEmpty, !delays.contains(nil) else { return nil }
      return .schedule(delays.compactMap { $0.map { .milliseconds(min(max($0, 0), 604_800_000)) } })
    }
  }
}

extension PostgresStatement {
  static let insertEndpoint = PostgresStatement(
    "insert endpoint",
    """
    INSERT INTO webhook_endpoints (publisher_id, \(WebhookRow.columns), revision)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, 1)
    """)

  static let updateEndpoint = PostgresStatement(
    "update endpoint",
    """
    UPDATE webhook_endpoints SET (publisher_id, \(WebhookRow.columns), revision)
      = ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, revision + 1)
    WHERE publisher_id = $1 AND id = $2
    """)
}

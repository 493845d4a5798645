import Crypto
import Domain
import EventLoop
import Formats
import Postgres

/// An endpoint as a row of `webhook_endpoints`.
struct StoredEndpoint: Equatable {
  var endpoint: WebhookEndpoint
  /// A hash of the key that `PUT /3.1/webhook_subscriptions/{topic}` gave last; `nil` if it never gave one.
  var putKey: String?

  init(_ endpoint: WebhookEndpoint, putKey: String? = nil) {
    self.endpoint = endpoint
    self.putKey = putKey
  }

  /// Reads the rows of a result. If this process cannot decrypt the secrets, the endpoint says so
  /// (``WebhookEndpoint/secretsDefect``).
  ///
  /// - Parameters:
  ///   - refusesPlain: whether plain secrets are such a defect, too.
  ///   - doors: those of this build.
  /// - Throws: ``UnreadableRecord``. A caller that took such an endpoint for a missing one would lose its events.
  static func all(
    _ rows: PostgresRows, _ keys: SealingKeys, refusesPlain: Bool, _ doors: DoorCatalog
  ) throws -> [StoredEndpoint] {
    try WebhookRow.table.records(rows).map { try StoredEndpoint($0, keys, refusesPlain: refusesPlain, doors) }
  }

  private init(
    _ columns: WebhookRow, _ keys: SealingKeys, refusesPlain: Bool, _ doors: DoorCatalog
  ) throws(UnreadableRecord) {
    endpoint = columns.endpoint
    guard let format = doors.format(named: columns.format) else {
      throw UnreadableRecord("the format of endpoint \(endpoint.id)")
    }
    endpoint.format = format
    do throws(StoredSecrets.Unreadable) {
      let stored = try StoredSecrets(
        columns.stored, columns.publisherId, endpoint.id, keys, refusesPlain: refusesPlain)
      (endpoint.secrets, putKey) = (stored.secrets, stored.putKey)
    } catch {
      guard case .defect(let defect) = error else { throw UnreadableRecord("the secrets of endpoint \(endpoint.id)") }
      endpoint.secretsDefect = defect
    }
  }

  /// The parameters of `insertEndpoint` and `updateEndpoint`.
  ///
  /// - Throws: ``UnreadableSecrets``: what nobody can read cannot be written again; `CryptoError`.
  func parameters(_ publisher: PublisherId, _ keys: SealingKeys) throws -> [PostgresParameter] {
    if let defect = endpoint.secretsDefect {
      throw UnreadableSecrets(publisherId: publisher, endpointId: endpoint.id, defect: defect)
    }
    let stored = try StoredSecrets(secrets: endpoint.secrets, putKey: putKey).columns(publisher, endpoint.id, keys)
    return WebhookRow.table.values(
      WebhookRow(
        publisherId: publisher, endpoint: endpoint, format: endpoint.format.rawValue, stored: stored))
  }

  /// The hash under which the table remembers a given key.
  static func hash(_ endpoint: WebhookEndpoint) -> String {
    Hex.encode(SHA256.hash(endpoint.secrets.first?.key ?? []))
  }

  /// The names of the members that differ, for the audit. Times do not count.
  static func differences(_ old: WebhookEndpoint, _ new: WebhookEndpoint) -> [String] {
    var names: [String] = []
    func compare(_ name: String, _ isEqual: Bool) { if !isEqual { names.append(name) } }
    compare("url", old.url.isExactly(new.url))
    compare("name", old.name.isExactly(new.name))
    compare("topics", old.topics == new.topics)
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

  static func text(_ retry: WebhookEndpoint.Retry) -> String {
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

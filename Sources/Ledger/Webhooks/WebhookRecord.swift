import Crypto
import Domain
import EventLoop
import FoundationEssentials
import JSON
import Redis
import Store

/// An endpoint as the fields of its hash, with the number of its revision.
struct WebhookRecord {
  let endpoint: WebhookEndpoint
  /// Counts the changes, so that two changes at once do not undo each other.
  let revision: String

  /// Reads a reply with the hash of an endpoint; `nil` when it is empty: there is none.
  ///
  /// - Throws: `RedisError` for any other reply that is no endpoint, and for an endpoint of a newer version. A caller
  ///   that took it for a missing endpoint would lose its events.
  static func read(_ id: String, _ reply: RESPValue, _ operation: String) throws(RedisError) -> WebhookRecord? {
    guard let fields = reply.array else { throw .malformed(operation, "no hash") }
    if fields.isEmpty { return nil }
    try RecordVersion.check(reply.hash, key: "endpoint \(id)", operation)
    guard let record = WebhookRecord(id: id, fields: reply.hash) else {
      throw .malformed(operation, "the record of endpoint \(id) cannot be read")
    }
    return record
  }

  /// Reads a list of pairs, each the id of an endpoint and its hash.
  ///
  /// - Throws: as ``read(_:_:_:)`` does, also when a hash is empty.
  static func readAll(_ pairs: [RESPValue], _ operation: String) throws(RedisError) -> [WebhookEndpoint] {
    var endpoints: [WebhookEndpoint] = []
    for pair in pairs {
      guard let pair = pair.array, pair.count >= 2, let id = pair[0].string else {
        throw .malformed(operation, "no pair of id and hash")
      }
      guard let record = try read(id, pair[1], operation) else {
        throw .malformed(operation, "endpoint \(id) is listed, and is not there")
      }
      endpoints.append(record.endpoint)
    }
    return endpoints
  }

  /// Reads the fields; `nil` when they do not describe an endpoint.
  init?(id: String, fields: [String: String]) {
    func number(_ field: String) -> Int64? { fields[field].flatMap { Int64($0) } }
    guard let revision = fields["revision"], let url = fields["url"],
      let topics: [String] = Self.list(fields["topics"]),
      let format = fields["format"].flatMap(WebhookEndpoint.Format.init),
      let signature = fields["signature"].flatMap(WebhookEndpoint.Signature.init),
      let secrets: [WebhookEndpoint.Secret] = Self.secrets(fields["secrets"]),
      let retry = fields["retry"].flatMap(Self.retry),
      let source = fields["source"].flatMap(WebhookEndpoint.Source.init), let createdAt = number("created_at"),
      let updatedAt = number("updated_at"), let maxConcurrency = number("max_concurrency")
    else { return nil }
    self.revision = revision
    endpoint = WebhookEndpoint(
      id: id, url: url, name: fields["name"] ?? "", topics: topics, format: format, signature: signature,
      secrets: secrets,
      retry: retry, maxConcurrency: Int(maxConcurrency), maxPerSecond: number("max_per_second").map { Int($0) },
      acceptsSelfSigned: fields["accepts_self_signed"] == "1", paymentMethodId: number("payment_method"),
      source: source, createdAt: createdAt, updatedAt: updatedAt)
  }

  /// The fields of an endpoint and their values in turn. Times and revision are not among them: the scripts set those.
  static func fields(_ endpoint: WebhookEndpoint) -> [String] {
    [
      "url", endpoint.url, "name", endpoint.name, "topics", topics(endpoint.topics),
      "format", endpoint.format.rawValue, "signature", endpoint.signature.rawValue,
      "max_concurrency", String(endpoint.maxConcurrency),
      "max_per_second", endpoint.maxPerSecond.map { String($0) } ?? "",
      "accepts_self_signed", endpoint.acceptsSelfSigned ? "1" : "0", "source", endpoint.source.rawValue,
    ] + subscribed(endpoint) + secrets(endpoint)
  }

  /// The fields that every request for a subscription sets anew.
  static func subscribed(_ endpoint: WebhookEndpoint) -> [String] {
    let retry =
      switch endpoint.retry {
      case .standard: "standard"
      case .never: "never"
      case .schedule(let delays): delays.map { String($0.wholeMilliseconds) }.joined(separator: ",")
      }
    return ["retry", retry, "payment_method", endpoint.paymentMethodId.map { String($0) } ?? ""]
  }

  /// The field of the keys.
  static func secrets(_ endpoint: WebhookEndpoint) -> [String] {
    ["secrets", json(endpoint.secrets.map { Secret(key: Base64.encode($0.key), expiresAt: $0.expiresAt) })]
  }

  /// The field of the topics. The same list gives the same text.
  static func topics(_ topics: [String]) -> String { json(topics) }

  /// JSON of texts and whole numbers, which every encoder can write.
  static func json(_ value: some Encodable) -> String {
    (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
  }

  private static func secrets(_ text: String?) -> [WebhookEndpoint.Secret]? {
    guard let kept: [Secret] = list(text) else { return nil }
    let secrets = kept.compactMap { secret in
      Base64.decode(secret.key).map { WebhookEndpoint.Secret(key: $0, expiresAt: secret.expiresAt) }
    }
    return secrets.count == kept.count ? secrets : nil
  }

  private static func list<Element: Decodable>(_ text: String?) -> [Element]? {
    text.flatMap { try? JSONText(Array($0.utf8)).decoded() }
  }

  private static func retry(_ text: String) -> WebhookEndpoint.Retry? {
    switch text {
    case "standard": return .standard
    case "never": return .never
    default:
      let delays = text.split(separator: ",").map { Int64($0) }
      guard !delays.isEmpty, !delays.contains(nil) else { return nil }
      return .schedule(delays.compactMap { $0.map { .milliseconds($0) } })
    }
  }

  private struct Secret: Codable {
    let key: String
    let expiresAt: Int64?
  }
}

extension RedisError {
  /// A reply that no script of ours gives. The error does not show it: records of endpoints hold secrets.
  static func malformed(_ operation: String, _ what: String) -> RedisError {
    RedisError(.reply, operation: "script \(operation)", target: "Redis", cause: "unexpected answer: \(what)")
  }
}

extension RESPValue {
  /// Reads the answer of a script: 1 for yes, 0 for no.
  func flag(_ operation: String) throws(RedisError) -> Bool {
    switch integer {
    case 1: return true
    case 0: return false
    default: throw .malformed(operation, "neither 0 nor 1")
    }
  }
}

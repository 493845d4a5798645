import Crypto
import EventLoop
import FoundationEssentials
import JSON
import Purchases

/// An endpoint as the fields of its hash, with the number of its revision.
struct WebhookRecord {
  let endpoint: WebhookEndpoint
  /// Counts the changes, so that two changes at once do not undo each other.
  let revision: String

  /// Reads the fields; `nil` when they are none, or not those of an endpoint.
  init?(id: String, fields: [String: String]) {
    func number(_ field: String) -> Int64? { fields[field].flatMap { Int64($0) } }
    guard let revision = fields["revision"], let url = fields["url"],
      let topics: [String] = Self.list(fields["topics"]),
      let format = fields["format"].flatMap(WebhookEndpoint.Format.init),
      let signature = fields["signature"].flatMap(WebhookEndpoint.Signature.init),
      let secrets: [Secret] = Self.list(fields["secrets"]), let retry = fields["retry"].flatMap(Self.retry),
      let source = fields["source"].flatMap(WebhookEndpoint.Source.init), let createdAt = number("created_at"),
      let updatedAt = number("updated_at"), let maxConcurrency = number("max_concurrency")
    else { return nil }
    self.revision = revision
    endpoint = WebhookEndpoint(
      id: id, url: url, name: fields["name"] ?? "", topics: topics, format: format, signature: signature,
      secrets: secrets.compactMap { secret in
        Base64.decode(secret.key).map { WebhookEndpoint.Secret(key: $0, expiresAt: secret.expiresAt) }
      },
      retry: retry, maxConcurrency: Int(maxConcurrency), maxPerSecond: number("max_per_second").map { Int($0) },
      acceptsSelfSigned: fields["accepts_self_signed"] == "1", paymentMethodId: number("payment_method"),
      source: source, createdAt: createdAt, updatedAt: updatedAt)
  }

  /// The fields of an endpoint and their values in turn, without times and revision, which the scripts set.
  static func fields(_ endpoint: WebhookEndpoint) -> [String] {
    [
      "url", endpoint.url, "name", endpoint.name, "topics", topics(endpoint.topics),
      "format", endpoint.format.rawValue, "signature", endpoint.signature.rawValue,
      "max_concurrency", String(endpoint.maxConcurrency),
      "max_per_second", endpoint.maxPerSecond.map { String($0) } ?? "",
      "accepts_self_signed", endpoint.acceptsSelfSigned ? "1" : "0", "source", endpoint.source.rawValue,
    ] + subscribed(endpoint) + secrets(endpoint)
  }

  /// The fields that a subscription says anew each time it is put.
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

  /// The field of the topics; the same text for the same list.
  static func topics(_ topics: [String]) -> String { json(topics) }

  /// JSON of texts and whole numbers, which every encoder can write.
  static func json(_ value: some Encodable) -> String {
    (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
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

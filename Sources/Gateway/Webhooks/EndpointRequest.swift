import Configuration
import Domain
import EventLoop
import Formats
import HTTPServer
import JSON
import Ledger
import Messaging

/// A publisher's checked settings for an endpoint; `nil` for each setting that it leaves out.
struct EndpointRequest: Equatable {
  var url: String?
  var name: String?
  var topics: [EventTopic]?
  var retry: WebhookEndpoint.Retry?
  var maxConcurrency: Int?
  var maxPerSecond: Limit?
  var acceptsSelfSigned: Bool?
  var environment: Filter?
  /// The formats whose contract allows self-signed certificates, for a refusal.
  private let selfSignedFormats: String

  /// A limit that the publisher can remove.
  enum Limit: Equatable {
    case none
    case perSecond(Int)
  }

  /// A filter that the publisher can remove.
  enum Filter: Equatable {
    case none
    case only(WebhookEnvironment)
  }

  /// The members of a body that changes an endpoint.
  static let names = [
    "url", "name", "topics", "environment", "retryPolicy", "maxConcurrency", "maxPerSecond", "acceptsSelfSigned",
  ]
  /// The members that only the creation of an endpoint accepts.
  static let chosenOnce = ["format", "signature", "secret"]

  /// Reads a body that changes an endpoint.
  ///
  /// - Throws: ``Problem``: 400 REQ0001, as every function here does.
  init(changes body: JSONValue, _ address: WebhookAddress, _ doors: DoorCatalog) throws(Problem) {
    let reader = try BodyReader(body, knows: Self.names + Self.chosenOnce, naming: Self.names)
    let changed = "what can be changed: \(Self.names.joined(separator: ", "))"
    for name in ["format", "signature"] where reader.has(name) {
      throw reader.problem(name, "is chosen when an endpoint is created; create another one; \(changed)")
    }
    if reader.has("secret") { throw reader.problem("secret", "is changed with rotate_secret; \(changed)") }
    try self.init(reader, address, doors)
  }

  private init(_ reader: BodyReader, _ address: WebhookAddress, _ doors: DoorCatalog) throws(Problem) {
    selfSignedFormats = doors.formats.filter(\.allowsSelfSigned).map(\.rawValue).joined(separator: " or ")
    url = try webAddress(reader, address)
    if let name = try reader.text("name", .ruled) {
      guard name.unicodeScalars.count <= 256,
        !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f })
      else {
        throw reader.problem("name", "expected at most 256 characters without control characters")
      }
      self.name = name
    }
    topics = try Self.topics(reader, doors)
    retry = try retryPolicy(reader)
    maxConcurrency = try reader.integer("maxConcurrency", 1...1000).map { Int($0) }
    if reader.isNull("maxPerSecond") {
      maxPerSecond = Limit.none
    } else {
      maxPerSecond = try reader.integer("maxPerSecond", 1...10_000).map { .perSecond(Int($0)) }
    }
    acceptsSelfSigned = try reader.flag("acceptsSelfSigned")
    if reader.isNull("environment") {
      environment = Filter.none
    } else {
      let only: WebhookEnvironment? = try reader.choice("environment")
      environment = only.map { .only($0) }
    }
  }

  private static func topics(_ reader: BodyReader, _ doors: DoorCatalog) throws(Problem) -> [EventTopic]? {
    let (known, expected) = (doors.topics, doors.topicsExpectation)
    guard let list = try reader.list("topics", expected) else { return nil }
    var topics: [EventTopic] = []
    for element in list {
      guard case .string(let name) = element else { throw reader.problem("topics", expected) }
      let topic = EventTopic(name)
      guard known.contains(topic) else {
        let unknown = UnknownTopic(topic, among: known)
        throw reader.problem("topics", "has \(unknown.shown), \(expected)\(unknown.question)")
      }
      guard !topics.contains(topic) else { throw reader.problem("topics", "has \"\(topic)\" twice, \(expected)") }
      topics.append(topic)
    }
    guard !topics.isEmpty else { throw reader.problem("topics", expected) }
    return topics
  }

  /// Applies the changes.
  func apply(to endpoint: inout WebhookEndpoint) throws(Problem) {
    if endpoint.source == .subscription,
      url.map({ !$0.isExactly(endpoint.url) }) ?? false || topics.map({ $0 != endpoint.topics }) ?? false
    {
      throw .conflict(
        "url and topics of this endpoint are those of PUT /3.1/webhook_subscriptions/\(endpoint.topics[0]).")
    }
    endpoint.url = url ?? endpoint.url
    endpoint.name = name ?? endpoint.name
    endpoint.topics = topics ?? endpoint.topics
    endpoint.retry = retry ?? endpoint.retry
    endpoint.maxConcurrency = maxConcurrency ?? endpoint.maxConcurrency
    switch maxPerSecond {
    case .perSecond(let limit): endpoint.maxPerSecond = limit
    case .some(.none): endpoint.maxPerSecond = nil
    case nil: break
    }
    switch environment {
    case .only(let environment): endpoint.environment = environment
    case .some(.none): endpoint.environment = nil
    case nil: break
    }
    endpoint.acceptsSelfSigned = acceptsSelfSigned ?? endpoint.acceptsSelfSigned
    if endpoint.acceptsSelfSigned, !endpoint.format.allowsSelfSigned {
      throw .conflict("acceptsSelfSigned: \(selfSignedRule)")
    }
  }

  /// Reads a body that creates an endpoint.
  ///
  /// - Parameters:
  ///   - id: the id of the new endpoint.
  ///   - newKey: generates a key if the body has none.
  static func endpoint(
    _ body: JSONValue, id: EndpointId, _ address: WebhookAddress, _ doors: DoorCatalog,
    newKey: (WebhookEndpoint.Format) throws(Problem) -> [UInt8]
  ) throws(Problem) -> WebhookEndpoint {
    let reader = try BodyReader(body, knows: names + chosenOnce)
    let request = try EndpointRequest(reader, address, doors)
    guard let url = request.url else { throw reader.problem("url", "is missing") }
    let format = try reader.format("format", doors) ?? .cleeng
    let signature: WebhookEndpoint.Signature = try reader.choice("signature") ?? .v1
    guard format.secrets == .standard || signature == .v1 else {
      throw reader.problem("signature", "must be v1 with format \(format.rawValue), whose secret is shared")
    }
    let key: [UInt8]
    if let given = try secret(reader, format, signature) { key = given } else { key = try newKey(format) }
    var endpoint = WebhookEndpoint(
      id: id, url: url, topics: format.topics, format: format, signature: signature, secrets: [.init(key: key)])
    guard format.allowsSelfSigned || request.acceptsSelfSigned != true else {
      throw reader.problem("acceptsSelfSigned", request.selfSignedRule)
    }
    try request.apply(to: &endpoint)
    return endpoint
  }

  private var selfSignedRule: String { "goes with format \(selfSignedFormats) only, whose contract says so" }

  /// Reads a new secret for an existing endpoint.
  ///
  /// - Throws: ``Problem``: 409 for a secret that another format or signature would accept, 400 REQ0001 for any other.
  static func newSecret(_ reader: BodyReader, of endpoint: WebhookEndpoint) throws(Problem) -> [UInt8]? {
    do {
      return try secret(reader, endpoint.format, endpoint.signature)
    } catch {
      guard let text = try reader.text("secret", .ruled) else { throw error }
      let others: [(WebhookSecret.Form, WebhookEndpoint.Signature)] = [
        (.standard, .v1), (.standard, .v1a), (.text, .v1),
      ]
      guard others.contains(where: { WebhookSecret.key(text, $0, $1) != nil }) else { throw error }
      throw .conflict(error.detail ?? "")
    }
  }

  /// Reads a secret from the body.
  static func secret(
    _ reader: BodyReader, _ format: WebhookEndpoint.Format, _ signature: WebhookEndpoint.Signature
  ) throws(Problem) -> [UInt8]? {
    guard let text = try reader.text("secret", .ruled) else { return nil }
    guard let key = WebhookSecret.key(text, format, signature) else {
      // The answer does not repeat the text: it may be a secret all the same.
      throw reader.problem("secret", WebhookSecret.expectation(format, signature))
    }
    return key
  }
}

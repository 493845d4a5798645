import Configuration
import Domain
import Formats
import HTTPServer
import JSON
import Ledger

/// The members of an endpoint in the documented form of a subscription.
let subscriptionMembers = ["url", "verification", "paymentMethodId", "retryPolicy"]

/// Reads the list in the body of `PUT /3.1/webhook_subscriptions/{topic}`.
///
/// - Parameters:
///   - newId: generates the id of an endpoint, in case it is new.
///   - newKey: generates the key of an endpoint without `verification`, in case it is new.
/// - Throws: ``Problem``: 400 REQ0001, or 409 REQ0409 for a URL that is there twice, with the place in the list.
func subscriptions(
  _ body: JSONValue, topic: EventTopic, _ address: WebhookAddress, newId: () throws(Problem) -> EndpointId,
  newKey: () throws(Problem) -> [UInt8]
) throws(Problem) -> [WebhookEndpointStore.Subscription] {
  guard case .array(let elements) = body else { throw .invalidBody("expected a JSON array of endpoints") }
  guard elements.count <= WebhookEndpointStore.limit else {
    throw .invalidBody("expected at most \(WebhookEndpointStore.limit) endpoints")
  }
  var list: [WebhookEndpointStore.Subscription] = []
  var urls: Set<ExactText> = []
  for (number, element) in elements.enumerated() {
    let reader = try BodyReader(
      element, at: "[\(number)]", knows: subscriptionMembers)
    guard let url = try webAddress(reader, address) else { throw reader.problem("url", "is missing") }
    guard urls.insert(ExactText(url)).inserted else { throw .conflict("[\(number)].url: is in the list twice") }
    let given = try sharedSecret(reader)
    let key: [UInt8]
    if let given { key = given } else { key = try newKey() }
    let endpoint = WebhookEndpoint(
      id: try newId(), url: url, topics: [topic], secrets: [.init(key: key)],
      retry: try retryPolicy(reader) ?? .standard,
      paymentMethodId: try reader.integer("paymentMethodId", 0...Int64.max), source: .subscription)
    list.append(WebhookEndpointStore.Subscription(endpoint: endpoint, hasOwnKey: given != nil))
  }
  return list
}

/// Reads `verification` in its documented form: HMAC with SHA256, and a secret of 16 to 64 characters.
private func sharedSecret(_ reader: BodyReader) throws(Problem) -> [UInt8]? {
  guard let verification = try reader.object("verification", knows: ["name", "options"]) else { return nil }
  guard try verification.text("name", .ruled) == "HMAC" else { throw verification.problem("name", "expected HMAC") }
  guard let options = try verification.object("options", knows: ["hashAlg", "sharedSecret"]) else {
    throw verification.problem("options", "is missing")
  }
  guard try options.text("hashAlg", .ruled) == "SHA256" else { throw options.problem("hashAlg", "expected SHA256") }
  guard let secret = try options.text("sharedSecret", .ruled), (16...64).contains(secret.unicodeScalars.count) else {
    throw options.problem("sharedSecret", "expected a text of 16 to 64 characters")
  }
  // A library would decode such a secret, and then no signature would match.
  guard !secret.hasPrefix("whsec_") else {
    throw options.problem("sharedSecret", "is used as it is; leave verification out for a Standard Webhooks secret")
  }
  return Array(secret.utf8)
}

extension JSONLimits {
  /// A list of all endpoints of a topic, each with a schedule of its own. Only a publisher sends one.
  static let subscriptions = JSONLimits(
    depth: 8, members: 16, elements: 2 * WebhookEndpointStore.limit, values: 100_000, nameBytes: 256)
}

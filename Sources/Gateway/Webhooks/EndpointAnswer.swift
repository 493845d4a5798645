import Domain
import EventLoop
import Formats
import HTTPServer
import Ledger
import Observability

/// An endpoint as the API shows it. Only the answer that creates it has its secret.
struct EndpointAnswer: Encodable, Equatable {
  let id: EndpointId
  let url: String
  let name: String
  let topics: [EventTopic]
  let environment: String?
  let format: String
  let signature: String
  let retryPolicy: RetryPolicyAnswer
  let maxConcurrency: Int
  let maxPerSecond: Int?
  let acceptsSelfSigned: Bool
  let paymentMethodId: Int64?
  let source: String
  let enabled: Bool
  let disabledReason: String?
  let disabledAt: String?
  let failingSince: String?
  let createdAt: String?
  let updatedAt: String?
  /// The times until which old keys still sign after rotations.
  let oldSecretsExpireAt: [String]?
  var secret: String?
  /// The key that a receiver needs to verify `v1a`. It is not secret.
  let publicKey: String?

  /// - Parameter now: milliseconds since 1970.
  init(_ endpoint: WebhookEndpoint, _ health: EndpointHealth, now: Int64) {
    id = endpoint.id
    url = endpoint.url
    name = endpoint.name
    topics = endpoint.topics
    environment = endpoint.environment?.rawValue
    format = endpoint.format.rawValue
    signature = endpoint.signature.rawValue
    retryPolicy = RetryPolicyAnswer(endpoint.retry)
    maxConcurrency = endpoint.maxConcurrency
    maxPerSecond = endpoint.maxPerSecond
    acceptsSelfSigned = endpoint.acceptsSelfSigned
    paymentMethodId = endpoint.paymentMethodId
    source = endpoint.source.rawValue
    enabled = health.disabled == nil
    disabledReason = health.disabled?.reason.rawValue
    disabledAt = health.disabled.map { rfc3339(milliseconds: $0.at) }
    failingSince = health.failingSince.map(rfc3339)
    createdAt = endpoint.source == .configuration ? nil : rfc3339(milliseconds: endpoint.createdAt)
    updatedAt = endpoint.source == .configuration ? nil : rfc3339(milliseconds: endpoint.updatedAt)
    let ends = endpoint.secrets.compactMap(\.expiresAt).filter { now < $0 }
    publicKey = endpoint.signature == .v1a ? endpoint.secrets.first.flatMap { WebhookSecret.publicText($0.key) } : nil
    oldSecretsExpireAt = ends.isEmpty ? nil : ends.map(rfc3339)
  }
}

/// The retry policy of failed deliveries, in requests and in answers.
struct RetryPolicyAnswer: Encodable, Equatable {
  let enabled: Bool
  let scheduleSeconds: [Double]?

  init(_ retry: WebhookEndpoint.Retry) {
    switch retry {
    case .standard: (enabled, scheduleSeconds) = (true, nil)
    case .never: (enabled, scheduleSeconds) = (false, nil)
    case .schedule(let delays): (enabled, scheduleSeconds) = (true, delays.map(\.inSeconds))
    }
  }
}

/// An endpoint in the documented form of a subscription.
struct SubscriptionAnswer: Encodable, Equatable {
  let id: EndpointId
  let url: String
  let verification = Verification()
  let paymentMethodId: Int64?
  let retryPolicy: RetryPolicyAnswer
  let enabled: Bool
  let disabledReason: String?
  let disabledAt: String?
  let failingSince: String?
  /// The secret that the gateway generated for the endpoint. Only the answer that creates it has the secret.
  var signingSecret: String?

  struct Verification: Encodable, Equatable {
    let name = "HMAC"
    let options = ["hashAlg": "SHA256"]
  }

  init(_ endpoint: WebhookEndpoint, _ health: EndpointHealth) {
    id = endpoint.id
    url = endpoint.url
    paymentMethodId = endpoint.paymentMethodId
    retryPolicy = RetryPolicyAnswer(endpoint.retry)
    enabled = health.disabled == nil
    disabledReason = health.disabled?.reason.rawValue
    disabledAt = health.disabled.map { rfc3339(milliseconds: $0.at) }
    failingSince = health.failingSince.map(rfc3339)
  }
}

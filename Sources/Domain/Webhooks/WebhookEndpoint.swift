public import Formats

/// An address that receives a publisher's events, and how.
public struct WebhookEndpoint: Sendable, Equatable {
  public var id: EndpointId
  @Exact public var url: String
  /// The publisher's own name for it; may be empty.
  @Exact public var name: String
  /// The topics that it receives.
  public var topics: [EventTopic]
  public var format: Format
  public var signature: Signature
  /// The keys that sign, the newest first. The others sign only for a while longer.
  public var secrets: [Secret]
  /// The reason why this process does not know ``secrets``; `nil` when it knows them. Until somebody replaces them, the
  /// process neither signs for the endpoint nor stores it.
  public var secretsDefect: SecretsDefect?
  public var retry: Retry
  /// The most attempts of the whole fleet at a time.
  public var maxConcurrency: Int
  /// The most attempts of the whole fleet in a second; `nil` sets no limit.
  public var maxPerSecond: Int?
  /// Whether the notifier accepts a self-signed certificate; only with a format whose contract says so
  /// (``Format/allowsSelfSigned``).
  public var acceptsSelfSigned: Bool
  /// The only environment whose purchases it hears about; `nil` for both. It gets every event about no purchase.
  public var environment: WebhookEnvironment?
  /// The filter of the documented form of subscriptions. It is stored and shown; no event names a payment method yet.
  public var paymentMethodId: Int64?
  public var source: Source
  /// Whether it gets Apple's notifications as Apple posted them, instead of events.
  public var isForward = false
  /// Milliseconds since 1970.
  public var createdAt: Int64
  /// Milliseconds since 1970.
  public var updatedAt: Int64

  /// The source of an endpoint, which decides how it may change.
  public enum Source: String, Sendable, CaseIterable {
    /// `POST /3.1/webhook_endpoints`.
    case api
    /// `PUT /3.1/webhook_subscriptions/{topic}`. Such an endpoint has that topic only, and goes when the list that it
    /// came with goes.
    case subscription
    /// The publisher's file; only its owner changes it.
    case configuration
  }

  /// The scheme of Standard Webhooks 1.0.0.
  public enum Signature: String, Sendable, CaseIterable {
    /// HMAC-SHA256 with a shared secret, `whsec_`.
    case v1
    /// Ed25519; the receiver has the public key, `whpk_`.
    case v1a
  }

  /// A key that signs.
  public struct Secret: Sendable, Equatable {
    /// The shared secret of `v1` (16 to 64 bytes), or the 32 bytes of an Ed25519 private key of `v1a`.
    public var key: [UInt8]
    /// The time until which it still signs besides the newest, in milliseconds since 1970; `nil` for the newest.
    public var expiresAt: Int64?

    /// Creates a secret.
    public init(key: [UInt8], expiresAt: Int64? = nil) {
      self.key = key
      self.expiresAt = expiresAt
    }
  }

  /// When the notifier tries a failed delivery again.
  public enum Retry: Sendable, Equatable {
    /// After the fleet's schedule.
    case standard
    /// Never: one attempt.
    case never
    /// After a schedule of its own: the delay before each further attempt.
    case schedule([Duration])
  }

  /// Creates an endpoint with the defaults of the API.
  public init(
    id: EndpointId, url: String, name: String = "", topics: [EventTopic], format: Format = .cleeng,
    signature: Signature = .v1,
    secrets: [Secret], retry: Retry = .standard, maxConcurrency: Int = 10, maxPerSecond: Int? = nil,
    acceptsSelfSigned: Bool = false, environment: WebhookEnvironment? = nil, paymentMethodId: Int64? = nil,
    source: Source = .api, createdAt: Int64 = 0, updatedAt: Int64 = 0
  ) {
    self.id = id
    self.url = url
    self.name = name
    self.topics = topics
    self.format = format
    self.signature = signature
    self.secrets = secrets
    self.retry = retry
    self.maxConcurrency = maxConcurrency
    self.maxPerSecond = maxPerSecond
    self.acceptsSelfSigned = acceptsSelfSigned
    self.environment = environment
    self.paymentMethodId = paymentMethodId
    self.source = source
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  /// The keys that sign at a time, the newest first.
  public func secrets(at now: Int64) -> [[UInt8]] {
    secrets.filter { secret in secret.expiresAt.map { now < $0 } ?? true }.map(\.key)
  }
}

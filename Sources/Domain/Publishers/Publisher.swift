public import Crypto
public import Formats

/// A tenant: its credentials, its apps and offers, and where its webhooks go.
///
/// It is a class, because every request looks for its token in all publishers.
public final class Publisher: Sendable {
  /// `broadcasterId` on the wire.
  public let id: PublisherId
  /// Whether a purchase may only name a customer that the publisher has registered.
  public let customers: CustomerPolicy
  /// The tokens of its backends, each once.
  public let tokens: [PublisherToken]
  /// How the publisher's customer tokens are signed; `nil` when it issues no such tokens.
  public let customerTokens: CustomerTokenPolicy?
  /// The publisher's apps. An empty list means that the integration is not activated.
  public let apps: [App]
  /// Its offers.
  public let offers: OfferCatalog
  /// Which customers get access for purchases from Apple's sandbox.
  public let sandboxAccess: SandboxAccess
  /// Who may become the owner of a purchase.
  public let ownership: OwnershipPolicy
  /// Whether the publisher's purchases are being moved here from another system. Until that is done, the gateway
  /// refuses transfers.
  public let isMigrating: Bool
  /// Whom its events are told.
  public let mode: Mode
  /// The vendors' contracts that it is served by.
  public let doors: OpenDoors
  /// Access before Apple has answered; `nil` when only Apple's answer gives access.
  public let grantWhileAppleIsAway: GrantWhileAppleIsAway?
  /// What Apple's notifications do besides.
  public let notifications: NotificationPolicy
  /// The endpoints that receive its events.
  public let webhooks: [WebhookEndpoint]
  /// SHA-256 of what decides about access and timers: the offers, the customers with access for the sandbox, and the
  /// rules of open doors. Equal rules have equal hashes, in whichever order the publisher's file lists them.
  ///
  /// It is kept, because a worker compares those of all publishers again and again.
  public let rulesSHA256: [UInt8]

  /// Creates a publisher.
  ///
  /// - Parameters:
  ///   - tokenHashes: SHA-256 of each token without a name, which has every scope.
  ///   - tokens: those with names.
  public init(
    id: PublisherId, customers: CustomerPolicy, tokenHashes: [[UInt8]], tokens: [PublisherToken] = [],
    customerTokens: CustomerTokenPolicy?, apps: [App], offers: OfferCatalog, sandboxAccess: SandboxAccess = .nobody,
    ownership: OwnershipPolicy = OwnershipPolicy(), isMigrating: Bool = false, mode: Mode = .live,
    doors: OpenDoors = OpenDoors(), grantWhileAppleIsAway: GrantWhileAppleIsAway? = nil,
    notifications: NotificationPolicy = NotificationPolicy(), webhooks: [WebhookEndpoint]
  ) {
    self.id = id
    self.customers = customers
    let unnamed = tokenHashes.enumerated().filter { !tokenHashes[..<$0.offset].contains($0.element) }
    self.tokens = unnamed.map { PublisherToken(unnamed: $0.element) } + tokens
    self.customerTokens = customerTokens
    self.apps = apps
    self.offers = offers
    self.sandboxAccess = sandboxAccess
    self.ownership = ownership
    self.isMigrating = isMigrating
    self.mode = mode
    self.doors = doors
    self.grantWhileAppleIsAway = grantWhileAppleIsAway
    self.notifications = notifications
    self.webhooks = webhooks
    rulesSHA256 = Self.rulesSHA256(offers, sandboxAccess, doors)
  }

  /// Whether the publisher registers its customers first.
  public enum CustomerPolicy: String, Sendable, CaseIterable { case registered, open }

  /// An app of the publisher with the key that calls Apple for it.
  public struct App: Sendable {
    public let bundleId: BundleId
    public let appAppleId: Int64?
    public let issuerId: IssuerId
    public let keyId: KeyId
    public let privateKey: P256PrivateKey
    /// `Production`, `Sandbox` or both.
    public let environments: [Environment]
    /// Whether the app was released, so that production knows it. Production answers 401 about an app that was never
    /// released.
    public let isReleased: Bool

    /// Creates an app.
    public init(
      bundleId: BundleId, appAppleId: Int64?, issuerId: IssuerId, keyId: KeyId, privateKey: P256PrivateKey,
      environments: [Environment], isReleased: Bool = true
    ) {
      self.bundleId = bundleId
      self.appAppleId = appAppleId
      self.issuerId = issuerId
      self.keyId = keyId
      self.privateKey = privateKey
      self.environments = environments
      self.isReleased = isReleased
    }
  }

  /// An address that receives events.
  public struct WebhookEndpoint: Sendable, Equatable {
    public let id: EndpointId
    @Exact public private(set) var url: String
    /// The Standard Webhooks secret, decoded.
    public let secret: [UInt8]
    public let topics: [EventTopic]
    /// The only environment whose purchases it hears about; `nil` for both.
    public let environment: WebhookEnvironment?

    /// Creates an endpoint of a publisher's file.
    public init(
      id: EndpointId, url: String, secret: [UInt8], topics: [EventTopic], environment: WebhookEnvironment? = nil
    ) {
      self.id = id
      self.url = url
      self.secret = secret
      self.topics = topics
      self.environment = environment
    }
  }
}

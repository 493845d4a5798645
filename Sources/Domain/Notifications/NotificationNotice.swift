/// What a notification tells that is about no purchase, and that the publisher must act upon.
public struct NotificationNotice: Sendable, Equatable {
  /// What happened.
  public enum Kind: Sendable, Equatable {
    /// A parent withdrew consent: the child's device no longer starts the app.
    ///
    /// - Parameter appTransactionId: Apple's id of the download, the same for one customer and app.
    case consentRescinded(appTransactionId: String?)
    /// A token for purchases outside the App Store must be reported to Apple.
    case tokenDue(Token)
  }

  /// A token for purchases outside the App Store. Dates are milliseconds since 1970.
  public struct Token: Sendable, Equatable {
    /// Apple's `externalPurchaseId`.
    public let id: String
    /// Apple's `tokenType`; an open set.
    public let type: String?
    public let createdAt: Int64?
    public let expiresAt: Int64?

    /// Creates a token.
    public init(id: String, type: String?, createdAt: Int64?, expiresAt: Int64?) {
      self.id = id
      self.type = type
      self.createdAt = createdAt
      self.expiresAt = expiresAt
    }
  }

  public let publisherId: Int64
  /// Apple's `notificationUUID`.
  public let uuid: String
  /// Apple's subtype.
  public let subtype: String?
  /// `Production` or `Sandbox`.
  public let environment: String
  public let bundleId: String
  public let kind: Kind

  /// Creates a notice.
  public init(
    publisherId: Int64, uuid: String, subtype: String? = nil, environment: String, bundleId: String, kind: Kind
  ) {
    self.publisherId = publisherId
    self.uuid = uuid
    self.subtype = subtype
    self.environment = environment
    self.bundleId = bundleId
    self.kind = kind
  }

  /// The download whose customers the ledger may know.
  public var appTransactionId: String? { if case .consentRescinded(let id) = kind { id } else { nil } }
}

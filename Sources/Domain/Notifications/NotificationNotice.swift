import Formats

/// What a notification tells that is about no purchase, and that the publisher must act upon.
public struct NotificationNotice: Sendable, Equatable {
  /// What happened.
  public enum Kind: Sendable, Equatable {
    /// A parent withdrew consent: the child's device no longer starts the app.
    ///
    /// - Parameter appTransactionId: Apple's id of the download, the same for one customer and app.
    case consentRescinded(appTransactionId: AppTransactionId?)
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

  public let publisherId: PublisherId
  /// Apple's `notificationUUID`.
  public let uuid: NotificationUUID
  /// Apple's subtype.
  public let subtype: String?
  /// `Production` or `Sandbox`.
  public let environment: Environment
  public let bundleId: BundleId
  /// When Apple signed, in milliseconds since 1970.
  public let signedDate: Int64
  public let kind: Kind

  /// Creates a notice.
  public init(
    publisherId: PublisherId, uuid: NotificationUUID, subtype: String? = nil, environment: Environment,
    bundleId: BundleId, signedDate: Int64, kind: Kind
  ) {
    self.publisherId = publisherId
    self.uuid = uuid
    self.subtype = subtype
    self.environment = environment
    self.bundleId = bundleId
    self.signedDate = signedDate
    self.kind = kind
  }

  /// A notice that is older tells nothing. Apple's last try to post one comes 157 hours after the first.
  public static let toldFor = 7 * Int64.millisecondsOfDay

  /// Whether the notice is still told. An app whose history is read for the first time has half a year of them, and its
  /// publisher has acted upon them long ago.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func isNews(at now: Int64) -> Bool { signedDate >= now.adding(-Self.toldFor) }

  /// The download whose customers the ledger may know.
  public var appTransactionId: AppTransactionId? { if case .consentRescinded(let id) = kind { id } else { nil } }
}

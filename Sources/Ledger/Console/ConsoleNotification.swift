public import Domain
import Formats
import Postgres

/// A notification of Apple's, for the console. Times are milliseconds since 1970.
public struct ConsoleNotification: Sendable, Equatable {
  public let publisherId: PublisherId
  public let uuid: NotificationUUID
  public let type: String
  public let subtype: String?
  public let environment: Environment?
  public let bundleId: BundleId?
  public let originalTransactionId: OriginalTransactionId?
  public let signedDate: Int64
  public let receivedAt: Int64
  /// How it reached us: `apple` or `history`.
  public let source: String
  public let state: State
  /// When it was applied.
  public let appliedAt: Int64?
  /// Why it was put aside.
  public let reason: String?

  /// What became of a notification.
  public enum State: String, Sendable, CaseIterable {
    /// A worker applies it in a moment, or tries again.
    case waiting
    /// It seemed to kill its workers. A person decides.
    case putAside = "put aside"
    /// It changed something.
    case applied
    /// The ledger knew already what it says, or something newer.
    case stale
    /// It is applied, and nobody owns its purchase.
    case unclaimed
  }

  /// Creates a notification.
  public init(
    publisherId: PublisherId, uuid: NotificationUUID, type: String, subtype: String? = nil,
    environment: Environment? = nil, bundleId: BundleId? = nil, originalTransactionId: OriginalTransactionId? = nil,
    signedDate: Int64, receivedAt: Int64, source: String = "apple", state: State, appliedAt: Int64? = nil,
    reason: String? = nil
  ) {
    (self.publisherId, self.uuid, self.type, self.subtype) = (publisherId, uuid, type, subtype)
    (self.environment, self.bundleId) = (environment, bundleId)
    self.originalTransactionId = originalTransactionId
    (self.signedDate, self.receivedAt, self.source) = (signedDate, receivedAt, source)
    (self.state, self.appliedAt, self.reason) = (state, appliedAt, reason)
  }

  /// Whether no post of Apple's brought it: a worker found it in Apple's Notification History.
  public var isFromHistory: Bool { source != KeptNotification.Source.apple.rawValue }

  /// Whether this version knows its type with its subtype.
  public var isKnownKind: Bool {
    NotificationKind(NotificationType(rawValue: type), subtype.map { NotificationSubtype(rawValue: $0) }).isKnown
  }

  /// The purchase that it is about.
  public var purchase: PurchaseKey? {
    guard let environment, let originalTransactionId else { return nil }
    return PurchaseKey(
      publisherId: publisherId, environment: environment, originalTransactionId: originalTransactionId)
  }

  /// From Apple's signature until the ledger had what it says, in milliseconds; `nil` while it waits.
  public var lag: Int64? { appliedAt.map { max(0, $0.subtracting(signedDate)) } }

  /// Reads a row of ``columns``.
  init(_ row: PostgresRow) throws {
    let (applied, isUnclaimed) = (try row.time("applied_at"), try row.bool("is_unclaimed") ?? false)
    let state: State =
      if try row.time("put_aside_at") != nil {
        .putAside
      } else if applied == nil {
        .waiting
      } else if try row.bool("is_news") == false {
        .stale
      } else {
        isUnclaimed ? .unclaimed : .applied
      }
    self.init(
      publisherId: try row.id("publisher_id") ?? 0, uuid: try row.id("uuid") ?? "",
      type: try row.text("type") ?? "", subtype: try row.text("subtype"), environment: try row.id("environment"),
      bundleId: try row.id("bundle_id"), originalTransactionId: try row.id("original_transaction_id"),
      signedDate: try row.time("signed_date") ?? 0, receivedAt: try row.time("received_at") ?? 0,
      source: try row.text("source") ?? "", state: state, appliedAt: applied,
      reason: try row.text("put_aside_reason"))
  }

  /// The columns of a notification `n` with its purchase `p`.
  static let columns = """
    n.publisher_id, n.uuid, n.type, n.subtype, n.environment, n.bundle_id, n.original_transaction_id, n.signed_date,
      n.received_at, n.source, n.applied_at, n.is_news, n.put_aside_at, n.put_aside_reason,
      p.publisher_id IS NOT NULL AND p.customer_id IS NULL AS is_unclaimed
    """

  /// Finds the purchase `p` of a notification `n`.
  static let withPurchase = """
    LEFT JOIN purchases p ON p.publisher_id = n.publisher_id AND p.environment = n.environment
      AND p.original_transaction_id = n.original_transaction_id
    """
}

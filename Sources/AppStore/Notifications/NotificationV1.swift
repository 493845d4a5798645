public import Domain
import Formats
import JSON

/// A hint from a notification of version 1: that Apple may have news about some purchases.
///
/// Nobody signs version 1. Whoever knows the shared secret can write one, and the secret stands in every copy of it. So
/// nothing in it is evidence: the rest of the body, such as dates and receipts, is not even read. A caller compares the
/// secret (``SealedNotificationV1``), takes the purchases that it knows already, and lets a worker ask about them.
public struct NotificationV1: Hashable, Sendable {
  /// The environment that it claims.
  public let environment: Environment
  /// The app that it claims.
  public let bundleId: BundleId
  /// What it claims to have happened.
  public let type: NotificationTypeV1
  /// The purchases that it names, each once, at most ``mostPurchases``.
  public let originalTransactionIds: [OriginalTransactionId]

  /// Apple sends the last 100 transactions. Further ids are dropped: each may cost a call to Apple.
  public static let mostPurchases = 100
  static let longestName = 255
  static let longestType = 64

  /// Reads the body that Apple posts.
  ///
  /// - Throws: when a field that makes the hint is missing or has another form.
  init(_ json: JSONText) throws(Rejection) {
    guard let body = try? json.decoded(as: Body.self) else {
      throw Rejection(.malformed, "this is not a notification of version 1")
    }
    switch body.environment {
    case "PROD", "Production": environment = .production
    case "Sandbox": environment = .sandbox
    case nil: throw Rejection(.malformed, "the notification names no environment")
    default: throw Rejection(.environmentMismatch, "the notification names neither production nor the sandbox")
    }
    guard let type = body.notificationType, (1...Self.longestType).contains(type.utf8.count),
      type.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "_") })
    else { throw Rejection(.malformed, "the notification has no type") }
    guard let bundleId = body.bundleId, (1...Self.longestName).contains(bundleId.text.utf8.count),
      bundleId.text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
    else { throw Rejection(.malformed, "the notification names no app") }
    guard !body.isIdTooLong else { throw Rejection(.malformed, "the notification names no purchase") }
    self.type = NotificationTypeV1(rawValue: type)
    self.bundleId = bundleId
    originalTransactionIds = body.purchases
  }
}

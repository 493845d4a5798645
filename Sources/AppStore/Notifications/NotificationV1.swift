import Crypto
import Formats
public import JSON

/// A hint from a notification of version 1: that Apple may have news about some purchases.
///
/// Nobody signs version 1. Whoever knows the shared secret can write one, and the secret stands in every copy of it. So
/// nothing in it is evidence: the rest of the body, such as dates and receipts, is not even read. A caller compares the
/// secret, takes the purchases that it knows already, and lets a worker ask Apple about them.
public struct NotificationV1: Hashable, Sendable {
  /// The environment that it claims.
  public let environment: AppStoreEnvironment
  /// The app that it claims.
  public let bundleId: String
  /// What it claims to have happened.
  public let type: NotificationTypeV1
  /// The purchases that it names, each once, at most ``mostPurchases``.
  public let originalTransactionIds: [String]
  /// SHA-256 of the shared secret in it. The secret itself is not kept.
  public let passwordSHA256: [UInt8]

  /// Apple sends the last 100 transactions. Further ids are dropped: each may cost a call to Apple.
  public static let mostPurchases = 100
  static let longestName = 255
  static let longestType = 64

  /// Returns whether the sender knew the shared secret with this SHA-256. Its time does not depend on the secret.
  public func hasPassword(sha256: [UInt8]) -> Bool { constantTimeEqual(passwordSHA256, sha256) }

  /// Reads the body that Apple posts.
  ///
  /// - Throws: when a field that makes the hint is missing or has another form.
  public init(_ json: JSONText) throws(Rejection) {
    guard let body = try? json.decoded(as: Body.self) else {
      throw Rejection(.malformed, "this is no notification of version 1")
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
    guard let bundleId = body.bundleId, (1...Self.longestName).contains(bundleId.utf8.count),
      bundleId.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f })
    else { throw Rejection(.malformed, "the notification names no app") }
    guard let password = body.password, !password.isEmpty else {
      throw Rejection(.malformed, "the notification has no shared secret")
    }
    self.type = NotificationTypeV1(rawValue: type)
    self.bundleId = bundleId
    originalTransactionIds = body.purchases
    passwordSHA256 = SHA256.hash(Array(password.utf8))
  }

  public static func == (one: NotificationV1, other: NotificationV1) -> Bool {
    one.environment == other.environment && one.bundleId.exact == other.bundleId.exact && one.type == other.type
      && one.originalTransactionIds.map(\.exact) == other.originalTransactionIds.map(\.exact)
      && one.passwordSHA256 == other.passwordSHA256
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(bundleId.exact)
    hasher.combine(passwordSHA256)
  }
}

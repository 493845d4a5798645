import Crypto
import JSON

/// A posted notification of version 1, of which only the shared secret has been read.
///
/// Anybody can post one, and its lists are long. So a caller compares the secret first, and decodes the rest with
/// ``hint()`` only for a sender who knew it.
public struct SealedNotificationV1: Sendable {
  /// SHA-256 of the shared secret in it. The secret itself is not kept.
  public let passwordSHA256: [UInt8]
  private let json: JSONText

  /// Apple's shared secrets have 32 characters.
  static let longestPassword = 1024

  /// Takes a body, and reads its `password` only.
  ///
  /// - Throws: when it has none.
  init(_ json: JSONText) throws(Rejection) {
    let password: String?
    do {
      password = try JSONObject(json).string("password")
    } catch {
      throw Rejection(.malformed, "this is not a notification of version 1")
    }
    guard let password, (1...Self.longestPassword).contains(password.utf8.count) else {
      throw Rejection(.malformed, "the notification has no shared secret")
    }
    self.json = json
    passwordSHA256 = SHA256.hash(Array(password.utf8))
  }

  /// Returns whether the sender knew the shared secret with this SHA-256. Its time does not depend on the secret.
  public func hasPassword(sha256: [UInt8]) -> Bool { constantTimeEqual(passwordSHA256, sha256) }

  /// Reads the rest of the body.
  ///
  /// - Throws: when a field that makes the hint is missing or has another form.
  public func hint() throws(Rejection) -> NotificationV1 { try NotificationV1(json) }
}

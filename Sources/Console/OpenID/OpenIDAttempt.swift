import Crypto
import EventLoop
import Formats

/// One attempt of a browser to sign in with the provider.
///
/// The browser's cookie has all of it, so that any console can end what another one began, and nobody can fill Redis
/// with attempts. What goes to the provider is derived from the cookie's secret. So an answer of the provider counts
/// only in the browser that began.
struct OpenIDAttempt: Sendable, Equatable {
  /// 32 random bytes in base64url.
  let secret: String
  /// Milliseconds since 1970. It is a part of what is derived, so an old cookie does not become young.
  let startedAt: Int64
  /// The address to go on to, as somebody wrote it.
  let next: String

  /// So long a person may take to sign in at the provider.
  static let lifetime = Duration.seconds(600)

  /// Binds the provider's answer to the browser (RFC 6749, section 10.12).
  var state: String { derived("state") }
  /// Binds the id token to the browser (OpenID Connect Core, section 3.1.2.1).
  var nonce: String { derived("nonce") }
  /// Lets only this browser redeem the provider's code (RFC 7636).
  var verifier: String { derived("verifier") }
  /// What the provider may know of ``verifier`` before: S256.
  var challenge: String { Base64URL.encode(SHA256.hash(Array(verifier.utf8))) }

  private func derived(_ purpose: String) -> String {
    Base64URL.encode(HMACSHA256.authenticate(Array("\(purpose) \(startedAt)".utf8), key: Array(secret.utf8)))
  }

  /// Whether the attempt may still end.
  func isAlive(at now: Int64) -> Bool {
    let (age, isTooLong) = now.subtractingReportingOverflow(startedAt)
    return !isTooLong && age >= 0 && age < Self.lifetime.wholeMilliseconds
  }

  /// The cookie's value.
  var cookie: String { "\(startedAt).\(secret).\(Base64URL.encode(Array(next.utf8)))" }

  init(secret: String, startedAt: Int64, next: String) {
    (self.secret, self.startedAt) = (secret, startedAt)
    // A cookie has 4096 bytes at most, and no address of the console is so long.
    self.next = next.utf8.count <= 2048 ? next : ""
  }

  /// Reads ``cookie``; `nil` for any other text.
  init?(cookie: String) {
    let parts = cookie.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard cookie.utf8.count <= 4096, parts.count == 3, let startedAt = Int64(parts[0]), parts[1].utf8.count == 43,
      let next = Base64URL.decode(parts[2]).flatMap({ String(validating: $0, as: UTF8.self) })
    else { return nil }
    self.init(secret: parts[1], startedAt: startedAt, next: next)
  }
}

import EventLoop
import HTTPServer

/// The cookie with the token of a session, or that of an attempt to sign in with the provider.
struct SessionCookie {
  /// Whether browsers reach the console over TLS.
  let isSecure: Bool
  /// The path before all pages.
  let prefix: String
  private var suffix = ""

  init(isSecure: Bool, prefix: String) { (self.isSecure, self.prefix) = (isSecure, prefix) }

  /// The one that an attempt has.
  var ofAttempt: SessionCookie {
    var cookie = self
    cookie.suffix = "-openid"
    return cookie
  }

  /// A browser takes the first name only over TLS, and for this very host.
  var name: String { (isSecure ? "__Host-countersign" : "countersign") + suffix }

  /// The value of `Set-Cookie` for a token; without one, the cookie ends.
  ///
  /// - Parameter time: the browser forgets it after this; without it, when the browser ends.
  func header(_ token: String?, for time: Duration? = nil) -> String {
    let time = token == nil ? .zero : time
    let path = isSecure || prefix.isEmpty ? "/" : prefix
    return "\(name)=\(token ?? ""); Path=\(path); HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
      + (time.map { "; Max-Age=\($0.components.seconds)" } ?? "")
  }

  /// The token that a request brings.
  func token(of request: HTTPServerRequest) -> String? { value(of: request) { $0.utf8.count == 43 } }

  /// The first value of the cookie that is of the right form.
  func value(of request: HTTPServerRequest, where isRight: (String) -> Bool = { _ in true }) -> String? {
    for value in request.values(of: "Cookie") {
      for pair in value.split(separator: ";") {
        let pair = pair.drop { $0 == " " }
        guard pair.utf8.starts(with: (name + "=").utf8) else { continue }
        let value = String(decoding: pair.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self)
        if isRight(value) { return value }
      }
    }
    return nil
  }
}

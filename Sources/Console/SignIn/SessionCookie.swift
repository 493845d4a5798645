import HTTPServer

/// The cookie with the token of a session.
struct SessionCookie {
  /// Whether browsers reach the console over TLS.
  let isSecure: Bool
  /// The path before all pages.
  let prefix: String

  /// A browser takes the first name only over TLS, and for this very host.
  var name: String { isSecure ? "__Host-countersign" : "countersign" }

  /// The value of `Set-Cookie` for a token; without one, the cookie ends.
  func header(_ token: String?) -> String {
    let path = isSecure || prefix.isEmpty ? "/" : prefix
    return "\(name)=\(token ?? ""); Path=\(path); HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
      + (token == nil ? "; Max-Age=0" : "")
  }

  /// The token that a request brings.
  func token(of request: HTTPServerRequest) -> String? {
    for (field, value) in request.headers where field.lowercased() == "cookie" {
      for pair in value.split(separator: ";") {
        let pair = pair.drop { $0 == " " }
        guard pair.hasPrefix(name + "=") else { continue }
        let token = String(pair.dropFirst(name.utf8.count + 1))
        if token.utf8.count == 43 { return token }
      }
    }
    return nil
  }
}

import Configuration
import HTTPServer
import Observability

extension ConsoleAPI {
  func signInPage(_ request: HTTPServerRequest) -> HTTPServerResponse {
    if proxy != nil { return ConsoleAnswer.page(200, ProxyPage.signIn(prefix).html) }
    return ConsoleAnswer.page(200, signInPage(next: request.query("next") ?? "").html)
  }

  /// The page with the ways to sign in that the configuration has.
  func signInPage(next: String, name: String = "") -> SignInPage {
    SignInPage(
      prefix: prefix, next: next, name: name, takesPasswords: signIn.takesPasswords, provider: openID?.settings.host)
  }

  func signOut(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    // Also behind a proxy: a console with another way in may have begun a session at the same host.
    if let token = cookie.token(of: request) { try await signIn.signOut(token) }
    if proxy != nil {
      return ConsoleAnswer.page(200, ProxyPage.signOut(prefix).html, [("Set-Cookie", cookie.header(nil))])
    }
    return ConsoleAnswer.seeOther(Link(prefix, ["sign-in"]).address, cookies: [cookie.header(nil)])
  }

  func signIn(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    guard signIn.takesPasswords else { return ConsoleAnswer.text(404, "Nobody signs in with a password here.") }
    guard let form = FormBody(request.body), let name = form["name"], let password = form["password"],
      name.utf8.count <= 100, password.utf8.count <= PasswordLine.lengths.upperBound
    else { return ConsoleAnswer.text(400, "The form is not complete. Open the page, and send it again.") }
    let answer = try await signIn.signIn(name, password, from: AddressGroup(request.origin.client).text)
    metrics.signIns.count(answer.label)
    var page = signInPage(next: form["next"] ?? "", name: name)
    switch answer {
    case .signedIn(let token):
      return ConsoleAnswer.seeOther(Self.destination(page.next, prefix), cookies: [cookie.header(token)])
    case .refused:
      page.mistake = "Name or password is wrong."
      return ConsoleAnswer.page(401, page.html)
    case .tooOften:
      page.mistake = "Too many attempts. Try again in 15 minutes."
      return ConsoleAnswer.page(429, page.html, [("Retry-After", "\(SignIn.window.components.seconds)")])
    case .busy:
      page.mistake = "Many people are signing in now. Try again in some seconds."
      return ConsoleAnswer.page(429, page.html, [("Retry-After", "5")])
    }
  }

  /// The address to go on to: a page of the console, whatever somebody wrote.
  nonisolated static func destination(_ next: String, _ prefix: String) -> String {
    let isOwn =
      next.hasPrefix(prefix + "/") && !next.hasPrefix("//") && next.utf8.count <= 2048
      && next.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }
    return isOwn ? next : prefix + "/"
  }
}

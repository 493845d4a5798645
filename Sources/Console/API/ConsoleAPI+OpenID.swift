import Configuration
import Crypto
import HTTPServer
import Observability
import Service

extension ConsoleAPI {
  private var attemptCookie: SessionCookie { cookie.ofAttempt }

  /// Sends a browser to the provider.
  ///
  /// Another site may do the same with a link, which only shows its visitor the provider's sign-in.
  func beginOpenID(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    guard let openID else { return ConsoleAnswer.text(404, "There is no such page.") }
    let attempt = OpenIDAttempt(
      secret: Base64URL.encode(try secureRandomBytes(32)), startedAt: context.now(), next: request.query("next") ?? "")
    guard let address = await openID.address(for: attempt) else { return openIDAnswer(.failed, next: attempt.next) }
    return ConsoleAnswer.seeOther(
      address, cookies: [attemptCookie.header(attempt.cookie, for: OpenIDAttempt.lifetime)])
  }

  /// Takes a browser back from the provider.
  func endOpenID(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    guard let openID else { return ConsoleAnswer.text(404, "There is no such page.") }
    guard let attempt = attemptCookie.value(of: request).flatMap(OpenIDAttempt.init(cookie:)),
      attempt.isAlive(at: context.now()), let returned = OpenIDReturn(request.query, to: attempt)
    else {
      return ConsoleAnswer.page(
        400, signInPage("This sign-in was not begun in this browser, or it took more than ten minutes. Begin again."))
    }
    let answer = try await openID.end(attempt, returned, from: AddressGroup(request.origin.client).text)
    return openIDAnswer(answer, next: attempt.next)
  }

  private func openIDAnswer(_ answer: OpenIDSignIn.Answer, next: String) -> HTTPServerResponse {
    metrics.openIDSignIns.count(answer.label)
    // An attempt ends once.
    let ended = [(name: "Set-Cookie", value: attemptCookie.header(nil))]
    switch answer {
    case .signedIn(let token):
      return ConsoleAnswer.seeOther(
        Self.destination(next, prefix), cookies: [cookie.header(token), attemptCookie.header(nil)])
    case .refused(let refusal):
      return ConsoleAnswer.page(403, RefusedPage(prefix: prefix, refusal: refusal).html, ended)
    case .notAtProvider:
      return ConsoleAnswer.page(401, signInPage("The provider did not let you in. Try again.", next), ended)
    case .failed:
      return ConsoleAnswer.page(
        503, signInPage("The sign-in with the provider failed. The console's log says why.", next), ended)
    case .tooOften:
      return ConsoleAnswer.page(
        429, signInPage("Too many attempts. Try again in 15 minutes.", next),
        ended + [("Retry-After", "\(SignIn.window.components.seconds)")])
    case .busy:
      return ConsoleAnswer.page(
        429, signInPage("Many people are signing in now. Try again in some seconds.", next),
        ended + [("Retry-After", "5")])
    }
  }

  private func signInPage(_ mistake: String, _ next: String = "") -> Document {
    var page = signInPage(next: next)
    page.mistake = mistake
    return page.html
  }
}

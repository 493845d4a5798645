import AppleCalls
import Configuration
import Domain
import EventLoop
import HTTPServer
import JSON
import Ledger
import Observability
import Service

/// Lets Apple post a test notification, and shows what became of it: as `countersign test-notification`.
extension ConsoleAPI {
  func testNotification(_ request: HTTPServerRequest, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard let body = FormBody(request.body), let form = TestNotificationForm({ body[$0] }) else {
      throw ConsoleRefusal.malformed
    }
    guard let app = try form.app(of: acting(on: form.publisherId, reader)) else { return reader.nothing }
    let list = [ConsoleList.notifications.rawValue]
    var preview = ActionPreview(
      view: reader.view, title: "Send a test notification?", above: "Publisher \(form.publisherId)",
      facts: [("App", .code(form.bundleId.text)), ("Environment", .text(form.environment.text))],
      words: "Apple posts a notification of the type TEST to the URL that App Store Connect has. It changes nothing.",
      action: reader.view.link(list + ["test"]), fields: form.fields, button: "Send a test",
      back: reader.view.link(list))
    guard body["step"] == "confirm" else { return ConsoleAnswer.page(200, preview.html) }
    // Noted first: without the ledger, nothing is sent that no entry tells of.
    try await OperatorAudit(postgres, name: reader.view.person.name).note(
      "notifications.tested", form.bundleId.text, of: [form.publisherId],
      filter: JSONWriter.object { $0.member("environment", form.environment) })
    let outcome = try await tests.request(for: app, in: form.environment)
    switch outcome {
    case .asked(let token):
      return ConsoleAnswer.seeOther(
        reader.view.link(list + ["tested"], query: form.fields + [(name: "token", value: token)]).address)
    case .busy(let wait):
      preview.refusal =
        "The budget for tests is used up. Try again in \(ConsoleTime.duration(Int64(wait.wholeMilliseconds)))."
      return ConsoleAnswer.page(429, preview.html)
    case .waiting, .tried:
      preview.refusal = "Apple's answer has no token."
      return ConsoleAnswer.page(502, preview.html)
    case .failed(let cause):
      preview.refusal = cause
      return ConsoleAnswer.page(502, preview.html)
    }
  }

  func testedNotification(_ request: HTTPServerRequest, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard let form = TestNotificationForm({ request.query($0) }), let token = request.query("token"),
      (1...TestNotifications.longestToken).contains(token.utf8.count), !token.utf8.contains(0)
    else { return reader.notUnderstood("The address names no test. Open the list of notifications.") }
    // Each look takes a call of the budget.
    guard let app = try form.app(of: acting(on: form.publisherId, reader)) else { return reader.nothing }
    let page = TestNotificationPage(
      view: reader.view, form: form, outcome: try await tests.status(token, for: app, in: form.environment))
    var answer = ConsoleAnswer.page(200, page.html)
    if page.isWaiting { answer.headers.append(("Refresh", "\(TestNotificationPage.seconds)")) }
    return answer
  }
}

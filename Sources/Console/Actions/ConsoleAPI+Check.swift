import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// Lets a worker ask Apple about a purchase now. The timer in the ledger carries the wish: the console has no broker,
/// and the look is that of any timer that is due.
extension ConsoleAPI {
  func check(
    _ key: PurchaseKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (publisher, body) = try readForm(request, on: key.publisherId, reader)
    let view = reader.view
    guard let purchase = try await PurchaseReader(postgres).purchases([key])[key],
      let timer = try await Timers(postgres).state(of: key)
    else { return reader.nothing }
    let deciding = purchase.deciding
    guard publisher.apps.contains(where: { $0.bundleId == deciding.bundleId }) else {
      return reader.message(
        409, "Not done", "The publisher's file has no app \(deciding.bundleId), so nobody can ask Apple about it.")
    }
    var preview = ActionPreview(
      view: view, title: "Synchronize it again?", above: TransferPreview.above(key),
      facts: [
        ("Product", .code(deciding.productId.text)), ("Signed by Apple", view.time(deciding.signedDate)),
        ("A worker looked at it last", view.time(timer.lookedAt, otherwise: "not yet")),
        ("It would look again", view.time(timer.dueAt, otherwise: "not by itself")),
      ],
      words: "A worker asks Apple within some seconds, and the ledger applies what Apple signs. It takes a call of the "
        + "app's budget. If Apple says nothing new, nothing changes.",
      action: view.link(toCheckOf: key), button: "Synchronize it", back: view.link(to: key),
      note: ActionPreview.noteOfAccess)
    guard body["step"] == "confirm" else { return ConsoleAnswer.page(200, preview.html) }
    do {
      switch try await Timers(postgres).look(at: key, by: view.person.name) {
      case .unknown: return reader.nothing
      case .tooEarly:
        preview.refusal = "A worker has looked at it less than a minute ago. The purchase's page has what Apple said."
        return ConsoleAnswer.page(409, preview.html)
      case .begun:
        log(of: key).info("purchase checked at the console")
      case .waits: break
      }
      return ConsoleAnswer.seeOther(view.link(to: key).address)
    } catch {
      log("console could not let a purchase be checked", error)
      preview.refusal = "The ledger did not answer, so it may be done. Send the form again: Apple is asked once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }
}

extension ConsoleView {
  func link(toCheckOf purchase: PurchaseKey) -> Link { link(purchase.page + ["check"]) }
}

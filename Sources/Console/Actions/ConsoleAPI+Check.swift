import AppleCalls
import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// Asks Apple about a purchase, shows what would change, and lets a worker apply it.
///
/// Only the worker commits: the timer in the ledger carries the wish, because the console has no broker, and the look
/// is that of any timer that is due. It asks Apple anew. So nothing that the browser sends is believed, and nothing
/// that the console has read is applied.
extension ConsoleAPI {
  func check(
    _ key: PurchaseKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (publisher, body) = try readForm(request, on: key.publisherId, reader)
    guard let purchase = try await PurchaseReader(postgres).purchases([key])[key],
      let timer = try await Timers(postgres).state(of: key)
    else { return reader.nothing }
    let deciding = purchase.deciding
    guard let app = PurchaseLookups.app(for: purchase, of: publisher) else {
      throw ConsoleRefusal.notDone(
        409,
        "The publisher's file has no app \(deciding.bundleId) in \(key.environment), so nobody can ask Apple about it.")
    }
    guard
      publisher.timer.needsApple(
        deciding.kind, deciding.productId, purchaseDate: deciding.purchaseDate, now: reader.view.now)
    else {
      throw ConsoleRefusal.notDone(
        409,
        "The pass is over by the days of its offer, whatever Apple says. So nobody asks Apple about it.")
    }
    switch body["step"] {
    case "ask": return try await ask(about: purchase, with: app, of: publisher, reader)
    case "confirm": return try await look(at: purchase, timer, reader)
    default: return ConsoleAnswer.page(200, Self.preview(purchase, timer, reader.view).html)
    }
  }

  private static func preview(_ purchase: Purchase, _ timer: Timers.State, _ view: ConsoleView) -> ActionPreview {
    ActionPreview(
      view: view, title: "Ask Apple?", above: TransferPreview.above(purchase.key),
      facts: [
        ("Product", .code(purchase.deciding.productId.text)),
        ("Signed by Apple", view.time(purchase.deciding.signedDate)),
        ("A worker looked at it last", view.time(timer.lookedAt, otherwise: "not yet")),
        ("It would look again", view.time(timer.dueAt, otherwise: "not by itself")),
      ],
      words: "The console asks Apple now, and shows what would change. Nothing changes before you apply it. It takes a "
        + "call of the app's budget, or two.",
      action: view.link(toCheckOf: purchase.key), step: "ask", button: "Ask Apple", back: view.link(to: purchase.key),
      note: "")
  }

  private func ask(
    about purchase: Purchase, with app: Publisher.App, of publisher: Publisher, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let reply = try await lookups.ask(about: purchase, with: app)
    log(of: purchase.key).info("asked Apple about a purchase at the console")
    // Apple may have posted meanwhile what it says.
    guard let present = try await PurchaseReader(postgres).purchases([purchase.key])[purchase.key] else {
      return reader.nothing
    }
    let page = PurchaseReplyPage(
      view: reader.view, purchase: present, reply: reply,
      rules: publisher.accessRules(for: present.owner?.customerId ?? .nobody, owning: [present]))
    return ConsoleAnswer.page(page.status, page.html, page.retryAfter.map { [("Retry-After", "\($0)")] } ?? [])
  }

  /// Lets a worker look at a purchase now.
  private func look(
    at purchase: Purchase, _ timer: Timers.State, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (key, view) = (purchase.key, reader.view)
    var preview = Self.preview(purchase, timer, view)
    do {
      switch try await Timers(postgres).look(at: key, by: view.person.name) {
      case .unknown: return reader.nothing
      case .tooEarly:
        preview.refusal =
          "A worker has looked at it less than a minute ago, so the purchase's page has what Apple said. Ask Apple "
          + "again in a minute."
        return ConsoleAnswer.page(409, preview.html)
      case .begun:
        log(of: key).info("purchase checked at the console")
      case .waits: break
      }
      return ConsoleAnswer.seeOther(view.link(to: key).address)
    } catch {
      log("console could not order a check of a purchase", error)
      preview.refusal = "The ledger did not answer, so it may be done. Ask Apple again: the answer shows what is left."
      return ConsoleAnswer.page(503, preview.html)
    }
  }
}

extension ConsoleView {
  func link(toCheckOf purchase: PurchaseKey) -> Link { link(purchase.page + ["check"]) }
}

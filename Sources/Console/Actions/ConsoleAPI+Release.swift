import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// Takes a purchase from its owner: the same commit as the API's, with the person's name in the audit log.
///
/// The form names the period of ownership that the person saw. So it never takes a purchase from its next owner.
extension ConsoleAPI {
  func release(
    _ key: PurchaseKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (publisher, body) = try readForm(request, on: key.publisherId, reader)
    guard let purchase = try await PurchaseReader(postgres).purchases([key])[key] else { return reader.nothing }
    guard let owner = purchase.owner else {
      throw ConsoleRefusal.notDone(409, "Nobody owns this purchase now, so there is nothing to release.")
    }
    let held = try await holdings.holdings(of: key.customer(owner.customerId))
    var preview = ReleasePreview(
      view: reader.view, purchase: purchase, owner: owner, rules: publisher.accessRules(for: owner),
      holdings: held)
    guard body["step"] == "confirm" else { return ConsoleAnswer.page(200, preview.html) }
    guard let period = body["subscriptionId"].flatMap({ Int64($0) }), period == owner.subscriptionId else {
      preview.refusal = "Somebody else owns the purchase by now. Look at it again before you release it."
      return ConsoleAnswer.page(409, preview.html)
    }
    let isReleased: Bool
    do {
      let answer = try await PurchaseRelease(postgres).release(
        key, publisher: publisher, subscriptionId: period, by: reader.view.person.name, now: context.now())
      guard let answer else { return reader.nothing }
      isReleased = answer.isReleased
      answer.takeTold().leaveInOutbox()
    } catch {
      log("console could not release a purchase", error)
      preview.refusal =
        "The ledger did not answer, so it may be done. Send the form again: it takes the purchase from this owner only."
      return ConsoleAnswer.page(503, preview.html)
    }
    guard isReleased else {
      throw ConsoleRefusal.notDone(
        409, "The purchase changed its owner meanwhile. Look at it again before you release it.")
    }
    log(of: key).info("purchase released at the console")
    return ConsoleAnswer.seeOther(reader.view.link(to: key).address)
  }
}

extension ConsoleView {
  func link(toReleaseOf purchase: PurchaseKey) -> Link { link(purchase.page + ["release"]) }
}

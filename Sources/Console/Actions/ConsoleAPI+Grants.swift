import Configuration
import Crypto
import Domain
import Formats
import HTTPServer
import Ledger
import Observability
import Service

/// Access by hand: the same commits as the API's, with the person's name in the audit log.
///
/// A first form shows what would change, and a second one does it. The ledger decides each time, whatever a form says.
extension ConsoleAPI {
  func give(_ customer: CustomerKey, _ request: HTTPServerRequest, _ reader: ConsoleReader) async throws
    -> HTTPServerResponse
  {
    let (publisher, body) = try readForm(request, on: customer.publisherId, reader)
    var form = GrantForm(body)
    let isConfirmed = body["step"] == "confirm"
    if !isConfirmed { form.id = GrantId(random: try secureRandomBytes(16)).text }
    let limits = context.settings.gateway.limits.grants
    let held = try await holdings.holdings(of: customer)
    guard held.isKnown else { return reader.nothing }
    let grant: Grant
    do {
      grant = try form.grant(to: customer, offers: publisher.offers, limits: limits, now: reader.view.now)
    } catch {
      throw ConsoleRefusal.notDone(400, error.words)
    }
    guard isConfirmed else { return preview(.give(grant), form, publisher, held, reader) }
    do {
      let answer = try await Grants(postgres).give(
        grant, publisher: publisher, limits: limits, by: reader.view.person.name)
      guard let answer else { return reader.nothing }
      if answer.isNew { note("given", answer.grant) }
      answer.takeTold().leaveInOutbox()
      return ConsoleAnswer.seeOther(reader.view.link(to: customer).address)
    } catch let refusal as GrantRefusal {
      throw ConsoleRefusal.notDone(409, refusal.words(limits))
    } catch {
      log("console could not give a grant", error)
      return preview(.give(grant), form, publisher, held, reader, Self.unknown)
    }
  }

  func withdraw(_ id: GrantId, of customer: CustomerKey, _ request: HTTPServerRequest, _ reader: ConsoleReader)
    async throws -> HTTPServerResponse
  {
    let (publisher, body) = try readForm(request, on: customer.publisherId, reader)
    let held = try await holdings.holdings(of: customer)
    guard held.isKnown else { return reader.nothing }
    let over = "The grant has already ended, or it belongs to another customer."
    let open = held.grants.first { $0.id == id && $0.state(at: reader.view.now) == .open }
    guard body["step"] == "confirm" else {
      guard let open else { throw ConsoleRefusal.notDone(409, over) }
      return preview(.withdraw(open), GrantForm(), publisher, held, reader)
    }
    let withdrawn: Grant?
    do {
      let answer = try await Grants(postgres).withdraw(
        id, of: customer, publisher: publisher, by: reader.view.person.name, now: context.now())
      if let answer {
        withdrawn = answer.grant
        if answer.isNew { note("withdrawn", answer.grant) }
        answer.takeTold().leaveInOutbox()
      } else {
        withdrawn = nil
      }
    } catch {
      log("console could not withdraw a grant", error)
      guard let open else { throw ConsoleRefusal.notDone(503, Self.unknown) }
      return preview(.withdraw(open), GrantForm(), publisher, held, reader, Self.unknown)
    }
    // Somebody whose first answer was lost sends the form again, and is told that it is done.
    guard withdrawn?.withdrawnAt != nil else { throw ConsoleRefusal.notDone(409, over) }
    return ConsoleAnswer.seeOther(reader.view.link(to: customer).address)
  }

  /// The commit may have happened. The same form does it once at most.
  private nonisolated static let unknown =
    "The ledger did not answer, so it may be done. Send the form again: the same grant is given or withdrawn only once."

  private func preview(
    _ change: GrantPreview.Change, _ form: GrantForm, _ publisher: Publisher, _ held: CustomerPurchases,
    _ reader: ConsoleReader, _ refusal: String? = nil
  ) -> HTTPServerResponse {
    let page = GrantPreview(
      view: reader.view, change: change, form: form,
      rules: publisher.accessRules(for: change.grant.customer.id, owning: held.purchases), holdings: held,
      refusal: refusal)
    return ConsoleAnswer.page(refusal == nil ? 200 : 503, page.html)
  }

  private func note(_ action: String, _ grant: Grant) {
    context.log.info(
      "grant \(action) at the console",
      [
        "publisherId": .int(grant.customer.publisherId.number), "grantId": .string(grant.id.text),
        "reason": .string(grant.reason.rawValue),
      ])
  }
}

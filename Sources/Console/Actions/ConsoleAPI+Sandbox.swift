import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// Sandbox access by hand: the same commits as the API's, with the person's name in the audit log.
extension ConsoleAPI {
  func allowSandbox(
    for customer: CustomerKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (publisher, body) = try readForm(request, on: customer.publisherId, reader)
    let (form, limits) = (SandboxForm(body), SandboxOverrideLimits())
    let held = try await holdings.holdings(of: customer)
    guard held.isKnown else { return reader.nothing }
    let wish: SandboxOverride
    do {
      wish = try form.override(of: customer, limits: limits, now: reader.view.now)
    } catch {
      throw ConsoleRefusal.notDone(400, error.words)
    }
    var preview = SandboxPreview(
      view: reader.view, change: .set(wish), form: form, rules: try await rules(for: customer, publisher),
      holdings: held)
    guard body["step"] == "confirm" else { return ConsoleAnswer.page(200, preview.html) }
    do {
      let answer = try await SandboxOverrides(postgres).put(
        wish, publisher: publisher, limits: limits, by: reader.view.person.name)
      guard let answer else { return reader.nothing }
      if answer.change != .nothing { note("set", answer.override) }
      answer.takeTold().leaveInOutbox()
      return ConsoleAnswer.seeOther(reader.view.link(to: customer).address)
    } catch let refusal as SandboxOverrideRefusal {
      throw ConsoleRefusal.notDone(409, refusal.words(limits))
    } catch {
      log("console could not give sandbox access", error)
      preview.refusal = Self.unknown
      return ConsoleAnswer.page(503, preview.html)
    }
  }

  func withdrawSandbox(
    of customer: CustomerKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (publisher, body) = try readForm(request, on: customer.publisherId, reader)
    let held = try await holdings.holdings(of: customer)
    guard held.isKnown else { return reader.nothing }
    let over = "The customer's sandbox access has already ended."
    let last = try await SandboxOverrides(postgres).last(of: customer)
    let open = last.flatMap { $0.state(at: reader.view.now) == .open ? $0 : nil }
    var preview = open.map { open in
      SandboxPreview(
        view: reader.view, change: .withdraw(open), form: SandboxForm(),
        rules: publisher.accessRules(for: customer.id, sandboxUntil: open.endsAt), holdings: held)
    }
    guard body["step"] == "confirm" else {
      guard let preview else { throw ConsoleRefusal.notDone(409, over) }
      return ConsoleAnswer.page(200, preview.html)
    }
    let state: Grant.State?
    do {
      let now = context.now()
      let answer = try await SandboxOverrides(postgres).withdraw(
        of: customer, publisher: publisher, by: reader.view.person.name, now: now)
      if let answer {
        state = answer.override.state(at: now)
        if answer.change != .nothing { note("withdrawn", answer.override) }
        answer.takeTold().leaveInOutbox()
      } else {
        state = nil
      }
    } catch {
      log("console could not withdraw sandbox access", error)
      preview?.refusal = Self.unknown
      guard let preview else { throw ConsoleRefusal.notDone(503, Self.unknown) }
      return ConsoleAnswer.page(503, preview.html)
    }
    // Somebody whose first answer was lost sends the form again, and is told that it is done.
    guard state == .withdrawn else { throw ConsoleRefusal.notDone(409, over) }
    return ConsoleAnswer.seeOther(reader.view.link(to: customer).address)
  }

  /// The rules for a customer, who need not own a purchase.
  func rules(for customer: CustomerKey, _ publisher: Publisher) async throws -> AccessRules {
    let last = try await SandboxOverrides(postgres).last(of: customer)
    return publisher.accessRules(for: customer.id, sandboxUntil: last.flatMap { $0.endedAt == nil ? $0.endsAt : nil })
  }

  /// The commit may have happened. The same form does it once at most.
  private nonisolated static let unknown =
    "The ledger did not answer, so it may be done. Send the form again: the same change is made only once."

  private func note(_ action: String, _ override: SandboxOverride) {
    context.log.info(
      "sandbox access \(action) at the console",
      ["publisherId": .int(override.customer.publisherId.number), "reason": .string(override.reason.rawValue)])
  }
}

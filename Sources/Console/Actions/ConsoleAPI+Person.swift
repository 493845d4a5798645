import Configuration
import Coordination
import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// What a customer may ask for as a person: everything that is kept, and its erasure.
extension ConsoleAPI {
  /// Downloads what the ledger keeps about a customer, as `GET /customers/{customerId}/export` has it.
  func export(
    _ customer: CustomerKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let body = try readForm(request, on: customer.publisherId, reader).body
    let store = CustomerStore(postgres)
    guard body["step"] == "confirm" else {
      let held = try await holdings.holdings(of: customer)
      return held.isKnown
        ? ConsoleAnswer.page(200, ActionPreview(exportOf: customer, held, reader.view).html) : reader.nothing
    }
    let document = try await store.export(customer.publisherId, customer.id, now: context.now())
    guard let document else { return reader.nothing }
    // Who takes personal data along is noted before it goes out.
    try await store.noteExport(customer, by: reader.view.person.name)
    context.log.info("customer exported at the console", ["publisherId": .int(customer.publisherId.number)])
    let name = "customer-of-\(customer.publisherId).json"
    return ConsoleAnswer.json(200, document, [("Content-Disposition", "attachment; filename=\"\(name)\"")])
  }

  /// Erases a customer, as `DELETE /customers/{customerId}` does. The person types the id, since nothing undoes it.
  func erase(
    _ customer: CustomerKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    guard publisher(customer.publisherId, reader) != nil else { return reader.nothing }
    guard reader.view.person.role.erases else {
      throw ConsoleRefusal.notDone(403, "An erasure cannot be undone. Ask somebody with the role operator.")
    }
    guard let body = FormBody(request.body) else { throw ConsoleRefusal.malformed }
    let held = try await holdings.holdings(of: customer)
    var preview = ErasurePreview(view: reader.view, customer: customer, holdings: held)
    // The ledger may have no row of a customer whom an erasure must still note: a job may be under way.
    guard body["step"] == "confirm" else {
      return held.isKnown ? ConsoleAnswer.page(200, preview.html) : reader.nothing
    }
    guard body["customerId"].map({ CustomerId($0) }) == customer.id else {
      preview.typed = body["customerId"] ?? ""
      preview.refusal = "The field has another id than the page. Type the customer's id as the page shows it."
      return ConsoleAnswer.page(400, preview.html)
    }
    do {
      // First, so that no copy outlives the customer. If the erasure fails, registrations ask the ledger.
      try await copies.noteErased(customer.publisherId, customer.id)
      let erasure = try await CustomerStore(postgres).erase(
        customer.publisherId, customer.id, by: reader.view.person.name, now: context.now())
      guard let erasure else {
        return reader.back(to: reader.view.link([])).message(
          200, "Nothing is kept", "The ledger has nothing about this customer, or no longer.")
      }
      context.log.info("customer erased at the console", ["publisherId": .int(customer.publisherId.number)])
      return reader.back(to: reader.view.link([])).message(200, "Erased", ErasurePreview.words(erasure))
    } catch {
      log("console could not erase a customer", error)
      preview.refusal = "A server did not answer, so it may be done. Send the form again: the erasure happens once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }
}

extension ActionPreview {
  /// What somebody takes along with an export.
  init(exportOf customer: CustomerKey, _ held: CustomerPurchases, _ view: ConsoleView) {
    self.init(
      view: view, title: "Export the customer?", above: "Customer \(customer.id) of publisher \(customer.publisherId)",
      facts: [
        ("Purchases, besides consumables", .text("\(held.purchases.count)")), ("Grants", .text("\(held.grants.count)")),
      ],
      words: "You download a file with everything that the ledger keeps about the customer, also the e-mail address, "
        + "notes and events. Nothing changes. Give the file to the customer only.",
      action: view.link(toExportOf: customer), button: "Export the customer", back: view.link(to: customer))
  }
}

extension ConsoleView {
  func link(toExportOf customer: CustomerKey) -> Link { link(customer.page + ["export"]) }

  func link(toErasureOf customer: CustomerKey) -> Link { link(customer.page + ["erase"]) }
}

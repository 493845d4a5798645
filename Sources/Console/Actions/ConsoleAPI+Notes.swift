import Crypto
import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// Notes about customers, which only people at the console read.
extension ConsoleAPI {
  func write(
    noteAbout customer: CustomerKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let body = try readForm(request, on: customer.publisherId, reader).body
    let (view, isConfirmed) = (reader.view, body["step"] == "confirm")
    var form = NoteForm(body)
    if !isConfirmed { form.id = NoteId(random: try secureRandomBytes(16)).text }
    if let defect = form.defect { throw ConsoleRefusal.notDone(400, defect) }
    guard let id = NoteId(canonical: form.id) else { throw ConsoleRefusal.malformed }
    guard try await holdings.holdings(of: customer).isKnown else { return reader.nothing }
    var preview = ActionPreview(
      view: view, title: "Keep the note?", above: "Customer \(customer.id) of publisher \(customer.publisherId)",
      facts: [
        ("Note", .element(.div, [.class("note")], [.text(form.text)])), ("Written by", .text(view.person.name)),
      ],
      words: "Support and operators of the publisher read it in the timeline. Nobody can change it. An export of the "
        + "customer has it.",
      action: view.link(toNotesOf: customer), fields: [("noteId", form.id), ("text", form.text)],
      button: "Keep the note",
      back: view.link(to: customer))
    guard isConfirmed else { return ConsoleAnswer.page(200, preview.html) }
    let note = CustomerNote(
      id: id, customer: customer, text: form.text, person: view.person.name, createdAt: context.now())
    do {
      switch try await CustomerNotes(postgres).add(note) {
      case .kept: break
      case .unknownCustomer: return reader.nothing
      case .full:
        throw ConsoleRefusal.notDone(409, "The customer has \(CustomerNotes.most) notes, which is the most.")
      }
      context.log.info("note kept at the console", ["publisherId": .int(customer.publisherId.number)])
      return ConsoleAnswer.seeOther(view.link(to: customer).address)
    } catch let refusal as ConsoleRefusal {
      throw refusal
    } catch {
      log("console could not keep a note", error)
      preview.refusal = "The ledger did not answer, so it may be kept. Send the form again: it is kept once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }
}

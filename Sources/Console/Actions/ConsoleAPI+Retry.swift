import Coordination
import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// A synchronization that must not wait: the same commit as `countersign jobs retry`, with the person's name.
extension ConsoleAPI {
  func retry(
    _ key: SynchronizationsKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let body = try readForm(request, on: key.publisherId, reader).body
    guard let one = try await synchronizations(key).first(where: { $0.finalizedAt == nil }), let job = one.job else {
      throw ConsoleRefusal.notDone(409, "It is finalized by now, or a newer version has it. Look at it again.")
    }
    guard let waiting = try await open.open(job), waiting.status == .retrying else {
      throw ConsoleRefusal.notDone(409, "It is running now, or its next attempt comes by itself. Look at it again.")
    }
    var preview = ActionPreview(
      view: reader.view, title: "Try it now?", above: "Synchronization \(key.id) of publisher \(key.publisherId)",
      facts: [
        ("Waits, because", waiting.cause.map { .text($0.words) }), ("What helps", waiting.cause.map { .text($0.help) }),
        ("Customer", SynchronizationsPage.customer(one, reader.view)),
        ("Transaction", SynchronizationsPage.transaction(one, reader.view)), ("Next try", reader.view.time(one.dueAt)),
      ], words: "A worker takes it up within a minute. If the cause is still there, it waits again.",
      action: reader.view.link(key.page + ["retry"]), button: "Try it now", back: reader.view.link(to: key))
    guard body["step"] == "confirm" else { return ConsoleAnswer.page(200, preview.html) }
    do {
      var filter = JobFilter()
      (filter.synchronization, filter.publisher) = (key.id, key.publisherId)
      try await OperatorAudit(postgres, name: reader.view.person.name)
        .note("jobs.retried", "jobs", of: [key.publisherId], filter: filter.json)
      _ = try await open.hurry([waiting])
      context.log.info(
        "synchronization retried at the console",
        ["publisherId": .int(key.publisherId.number), "synchronizationId": .string(key.id.text)])
      return ConsoleAnswer.seeOther(reader.view.link(to: key).address)
    } catch {
      log("console could not retry a synchronization", error)
      preview.refusal = "A server did not answer, so it may be done. Send the form again: it is tried once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }
}

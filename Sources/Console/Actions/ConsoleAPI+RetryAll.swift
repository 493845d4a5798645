import Coordination
import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Service

/// Synchronizations that must not wait, all of one kind: as `countersign jobs retry --cause …`, with the person's name.
extension ConsoleAPI {
  func retryAll(_ request: HTTPServerRequest, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    try reader.mustAct()
    guard let body = FormBody(request.body), let form = RetryAllForm(body) else { throw ConsoleRefusal.malformed }
    if let publisher = form.publisher, self.publisher(publisher, reader) == nil { return reader.nothing }
    let now = context.now()
    let filter = form.filter(at: now)
    let most = form.counted?.count ?? RetryAllForm.most
    // It may look at many, so one person does not keep Redis busy alone.
    let found = try await timelines.run(of: reader.view.person.name) {
      try await self.waiting(filter, seenBy: reader.view.person, at: now, atMost: most)
    }
    guard let found else { throw ConsoleRefusal.busy }
    guard !found.jobs.isEmpty else {
      let words =
        found.isCut
        ? "None is among the \(RetryAllForm.mostLooked) that were looked at. `countersign jobs retry` looks at all."
        : "None waits for this reason now."
      throw ConsoleRefusal.notDone(409, words)
    }
    var preview = preview(form, found, until: form.counted?.until ?? now, reader)
    guard form.counted != nil else { return ConsoleAnswer.page(200, preview.html) }
    do {
      try await OperatorAudit(postgres, name: reader.view.person.name)
        .note("jobs.retried", "jobs", of: found.jobs.map(\.job.publisherId), filter: filter.json)
      // All in one call: publishers take turns among all of them.
      let hurried = try await open.hurry(found.jobs)
      context.log.info(
        "synchronizations retried at the console",
        ["cause": .string(form.cause.rawValue), "synchronizations": .int(Int64(hurried))])
      return ConsoleAnswer.seeOther(reader.view.link([ConsoleList.synchronizations.rawValue]).address)
    } catch {
      log("console could not retry synchronizations", error)
      preview.refusal = "A server did not answer, so some may be done. Send the form again: each is tried once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }

  /// Those that are meant, and whether there may be more.
  private func waiting(
    _ filter: JobFilter, seenBy person: ConsolePerson, at now: Int64, atMost most: Int
  ) async throws -> (jobs: [OpenJob], isCut: Bool) {
    var (jobs, members, looked) = ([OpenJob](), Set<String>(), 0)
    for lane in JobLane.allCases {
      var start: String? = "0"
      while let from = start {
        guard looked < RetryAllForm.mostLooked else { return (jobs, true) }
        let page = try await open.page(lane, from: from, doors: context.doors)
        // Redis may show one twice.
        for one in page.jobs
        where person.sees(one.job.publisherId) && filter.matches(one, at: now, apps: { _ in [] })
          && members.insert(one.member).inserted
        {
          guard jobs.count < most else { return (jobs, true) }
          jobs.append(one)
        }
        looked += max(1, page.jobs.count)
        start = page.next
      }
    }
    return (jobs, false)
  }

  private func preview(
    _ form: RetryAllForm, _ found: (jobs: [OpenJob], isCut: Bool), until: Int64, _ reader: ConsoleReader
  ) -> ActionPreview {
    let view = reader.view
    let count = ConsoleNumber.text(Double(found.jobs.count))
    let publishers = Set(found.jobs.map(\.job.publisherId))
    let oldest = found.jobs.map(\.job.registeredAt).min()
    return ActionPreview(
      view: view, title: found.jobs.count == 1 ? "Try one now?" : "Try \(count) now?",
      above: form.publisher.map { "Synchronizations of publisher \($0)" }
        ?? "Synchronizations of \(publishers.count) publishers",
      facts: [
        ("Wait, because", .text(form.cause.words)), ("What helps", .text(form.cause.help)),
        ("Registered until", view.clock(until)), ("The oldest", oldest.map { view.time($0) }),
      ],
      words: (found.isCut ? "There may be more: do it again for the rest. " : "")
        + "A worker takes them up within a minute, as Apple's budget allows. If the cause is still there, they wait again.",
      action: view.link([ConsoleList.synchronizations.rawValue, "retry"]),
      fields: form.fields(found.jobs.count, until: until),
      button: found.jobs.count == 1 ? "Try it now" : "Try \(count) now",
      back: view.link([ConsoleList.synchronizations.rawValue]))
  }
}

import AMQP
import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Messaging
import Observability
import Service

/// What was given up, and what becomes of it: the work of `countersign dead`, with the person's name in the audit log.
extension ConsoleAPI {
  func dead(_ question: ListQuestion, _ reader: ConsoleReader) async throws -> HTTPServerResponse {
    guard let form = DeadForm(question) else { return reader.noSuchState }
    let filter = form.filter(at: context.now())
    var page = DeadPage(view: reader.view, question: question, form: form)
    do {
      let found = try await timelines.run(of: reader.view.person.name) { [page] in
        var (page, rows) = (page, [DeadRow]())
        if let kind = form.kind.queue {
          let outcome = try await self.queueWork.run(
            .look, kind, mostLooked: DeadForm.mostShown, meant: { self.meant($0, filter, reader) },
            see: { message, _ in rows.append(DeadRow(message)) })
          page.hasMore = rows.count > ListPage.most || outcome.looked >= DeadForm.mostShown
        } else {
          rows = try await self.putAside(form, filter, reader, limit: ListPage.most + 1).map(DeadRow.init)
          page.hasMore = rows.count > ListPage.most
        }
        page.rows = Array(rows.prefix(ListPage.most))
        return page
      }
      guard let found else { return reader.busy }
      page = found
    } catch let error where error is AMQPError || error is DeadQueueWork.Refused {
      log("console could not read dead messages", error)
      page.trouble = Self.words(error)
    }
    return reader.answer(html: page.html, json: page.json)
  }

  /// Lets what was given up run again, or drops it.
  func changeDead(
    _ change: DeadChange, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    try reader.mustAct()
    guard change == .retry || reader.view.person.role.erases else {
      throw ConsoleRefusal.notDone(403, "Nobody can undo this, so only an operator does it.")
    }
    guard let body = FormBody(request.body), let form = DeadForm(body) else { throw ConsoleRefusal.malformed }
    let list = reader.view.link([ConsoleList.dead.rawValue], query: [(name: "kind", value: form.kind.rawValue)])
    if let publisher = form.publisher, publisher != 0, self.publisher(publisher, reader) == nil {
      return reader.nothing
    }
    let now = context.now()
    let filter = form.filter(at: now)
    let isConfirmed = form.counted != nil
    let done: DeadQueueWork.Counts?
    do {
      done = try await timelines.run(of: reader.view.person.name) {
        try await self.change(form, filter, change, isDryRun: !isConfirmed, reader)
      }
    } catch {
      log("console could not change dead messages", error)
      return reader.back(to: list).message(
        503, "Perhaps not done",
        "\(Self.words(error)) Some may be done already. Look at the list again: nothing is lost, and what runs twice has "
          + "its effect once.")
    }
    guard let outcome = done else { throw ConsoleRefusal.busy }
    guard isConfirmed else {
      guard outcome.changed > 0 else { throw ConsoleRefusal.notDone(409, Self.words(ofNothing: outcome)) }
      return ConsoleAnswer.page(200, preview(form, change, outcome, until: now, reader).html)
    }
    context.log.info(
      "dead messages changed at the console",
      ["kind": .string(form.kind.rawValue), "messages": .int(Int64(outcome.changed))])
    return ConsoleAnswer.seeOther(list.address)
  }

  private var queueWork: DeadQueueWork {
    DeadQueueWork(context.settings, doors: context.doors, postgres, name: "countersign console")
  }

  /// What is meant and may be seen. Only a person who sees all publishers sees messages without one.
  private func meant(_ messages: [DeadMessage], _ filter: DeadFilter, _ reader: ConsoleReader) -> [Bool] {
    let now = context.now()
    return messages.map { message in
      reader.view.person.sees(message.publisherId ?? 0) && filter.matches(message, at: now, apps: { _ in [] })
    }
  }

  private func putAside(
    _ form: DeadForm, _ filter: DeadFilter, _ reader: ConsoleReader, limit: Int
  ) async throws -> [NotificationStore.PutAside] {
    guard [nil, .crashed].contains(form.cause) else { return [] }
    let publishers: [PublisherId]? =
      switch reader.view.person.publishers {
      case .all: nil
      case .only(let ids): ids.sorted()
      }
    let found = try await NotificationStore(postgres).listPutAside(
      NotificationStore.AsideFilter(
        publisher: form.publisher, publishers: publishers, uuid: form.id.map(NotificationUUID.init(_:)),
        until: filter.buriedUntil, limit: limit))
    return found
  }

  private func change(
    _ form: DeadForm, _ filter: DeadFilter, _ change: DeadChange, isDryRun: Bool, _ reader: ConsoleReader
  ) async throws -> DeadQueueWork.Counts {
    let audit = OperatorAudit(postgres, name: reader.view.person.name)
    let limit = form.counted?.count ?? DeadForm.most
    if let kind = form.kind.queue {
      return try await queueWork.run(
        change == .retry ? .retry : .drop, kind, limit: limit, mostLooked: DeadForm.mostLooked, isDryRun: isDryRun,
        meant: { self.meant($0, filter, reader) },
        record: { messages in
          try await audit.note(
            change.audit, kind.rawValue, of: messages.map(\.publisherId), filter: filter.json)
        })
    }
    let found = try await putAside(form, filter, reader, limit: limit)
    var outcome = DeadQueueWork.Counts(looked: found.count, matching: found.count, changed: found.count)
    guard !isDryRun, !found.isEmpty else { return outcome }
    let (store, keys) = (NotificationStore(postgres), found.map(\.key))
    let entries = audit.entries(
      change.audit, DeadKind.notifications.rawValue, of: keys.map(\.publisherId), filter: filter.json)
    outcome.changed = try await change == .retry ? store.bringBack(keys, entries) : store.giveUp(keys, entries)
    return outcome
  }

  private func preview(
    _ form: DeadForm, _ change: DeadChange, _ outcome: DeadQueueWork.Counts, until: Int64, _ reader: ConsoleReader
  ) -> ActionPreview {
    let view = reader.view
    let count = outcome.changed == 1 ? "one" : ConsoleNumber.text(Double(outcome.changed))
    let kept = outcome.kept.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.value) \($0.key.words)" }.joined(separator: "; ")
    let isCut = outcome.looked >= DeadForm.mostLooked || outcome.changed >= DeadForm.most
    return ActionPreview(
      view: view, title: change == .retry ? "Try \(count) again?" : "Drop \(count)?",
      above: "What was given up: \(form.kind.rawValue)",
      facts: [
        ("Cause", form.cause.map { .text($0.words) }), ("Id", form.id.map { .code($0) }),
        ("Given up until", view.clock(until)), ("Stay", kept.isEmpty ? nil : .text(kept)),
      ],
      words: change.words(form.kind)
        + (isCut ? " There may be more: do it again for the rest." : ""),
      action: view.link([ConsoleList.dead.rawValue, change.rawValue]),
      fields: form.fields + [(name: "count", value: "\(outcome.changed)"), (name: "until", value: "\(until)")],
      button: change == .retry ? "Try \(count) again" : "Drop \(count)",
      back: view.link([ConsoleList.dead.rawValue], query: [(name: "kind", value: form.kind.rawValue)]))
  }

  private static func words(ofNothing outcome: DeadQueueWork.Counts) -> String {
    let kept = outcome.kept.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.key.words)
    if kept.isEmpty, outcome.looked >= DeadForm.mostLooked {
      return "None is among the first \(DeadForm.mostLooked). `countersign dead` looks at all."
    }
    return kept.isEmpty
      ? "Nothing is left here."
      : "Nothing would happen, because it is \(kept.joined(separator: ", or "))."
  }

  /// What a person does about a failure.
  private static func words(_ error: any Error) -> String {
    switch error {
    case let refused as DeadQueueWork.Refused: "\(refused)."
    case is AMQPError:
      "The console could not reach RabbitMQ at `rabbitmq.url`. `countersign dead list` does the same from another machine."
    default: "A server did not answer."
    }
  }
}

/// What a person does with what was given up.
enum DeadChange: String, Sendable {
  case retry, drop

  /// What happens then.
  func words(_ kind: DeadKind) -> String {
    switch (self, kind) {
    case (.retry, .notifications):
      "A worker applies each once more. If workers die of one again, it is put aside again."
    case (.retry, _): "Each starts again, with its first attempt. What was done already is not done twice."
    case (.drop, .notifications):
      "Nobody can undo this. The ledger deletes what Apple has signed. If it is a refund or a renewal, the purchase stays "
        + "as it is until a worker asks Apple."
    case (.drop, _): "Nobody can undo this. The ledger keeps its events and purchases; what goes is the attempt."
    }
  }

  /// Its name in the audit log, as the command `countersign dead` has it.
  var audit: String { self == .retry ? "dead.retried" : "dead.buried" }
}

extension DeadForm {
  /// A page looks at so many messages of a queue at most.
  static let mostShown = 1000
}

import Configuration
import Coordination
import Domain
import EventLoop
import Formats
import HTTPServer
import Ledger
import Observability
import Service

/// Events once more: the same rounds as the API's, with the person's name in the audit log.
///
/// The console has no connection to RabbitMQ. So a notifier's sweep finds the rounds in the ledger, and enqueues them.
extension ConsoleAPI {
  func resend(
    _ key: EventKey, to id: EndpointId, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let endpointKey = EndpointKey(publisherId: key.publisherId, id: id)
    let body = try readForm(request, on: key.publisherId, reader).body
    guard let endpoint = try await known(endpointKey), endpoint.source != "forward",
      let event = try await ConsoleEvent.read(key.publisherId, key.id, postgres).event
    else { return reader.nothing }
    try await mustTakeReplays(endpoint)
    let isConfirmed = body["step"] == "confirm"
    let round = try formToken("round", in: body, isConfirmed: isConfirmed)
    var preview = ActionPreview(
      view: reader.view, title: "Send the event again?", above: "Event \(key.id) of publisher \(key.publisherId)",
      facts: [
        ("Topic", .text(event.topic.text)), ("Happened", reader.view.time(event.time)), ("To", .code(id.text)),
        ("Server", .text(endpoint.shownURL(to: reader.view.person.role))),
      ], words: Self.wordsOfReplay, action: reader.view.link(key.page + [id.text, "resend"]),
      fields: [("round", round)], button: "Send it again", back: reader.view.link(to: key))
    guard isConfirmed else { return ConsoleAnswer.page(200, preview.html) }
    do {
      if let wait = try await takeReplays(1, key.publisherId) { return tooMany(wait, preview) }
      let isKept = try await deliveries.resend(
        publisher: key.publisherId, event: key.id, to: id, round: DeliveryRound(round), by: reader.view.person.name)
      guard isKept else { return reader.nothing }
      context.log.info(
        "event sent again at the console", ["publisherId": .int(key.publisherId.number), "endpoint": .string(id.text)])
      return ConsoleAnswer.seeOther(reader.view.link(to: key).address)
    } catch {
      log("console could not send an event again", error)
      preview.refusal = "A server did not answer, so it may be done. Send the form again: the event is sent once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }

  /// The most events of one recovery.
  nonisolated static let recoveredAtOnce = 1000
  /// So many recovered events count as one that is sent again, as for the API.
  private nonisolated static let recoveredForOne = 100
  private nonisolated static let recoveredInOneTrip = 200

  func recover(
    _ key: EndpointKey, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let body = try readForm(request, on: key.publisherId, reader).body
    guard let endpoint = try await known(key), endpoint.source != "forward" else { return reader.nothing }
    try await mustTakeReplays(endpoint)
    let day = body["since"] ?? ""
    guard day.utf8.count == 10, let since = milliseconds(rfc3339: day + "T00:00:00Z"), since >= 0 else {
      throw ConsoleRefusal.notDone(400, "Choose the first day, such as 2026-11-22.")
    }
    let owed = try await deliveries.owed(
      publisher: key.publisherId, endpoint: key.id, since: since, limit: Self.recoveredAtOnce + 1)
    let some = Array(owed.prefix(Self.recoveredAtOnce))
    let more = owed.count > some.count ? " These are the oldest ones. Repeat it then for the rest." : ""
    var preview = ActionPreview(
      view: reader.view, title: "Send the missed events again?",
      above: "Endpoint \(key.id) of publisher \(key.publisherId)",
      facts: [
        ("Events, abandoned or skipped", .text("\(some.count)")), ("Given up since", .text("\(day), 0:00 UTC")),
        ("The first of them", some.first.map { reader.view.time($0.time) }),
        ("Server", .text(endpoint.shownURL(to: reader.view.person.role))),
      ],
      words: some.isEmpty ? "The endpoint has missed nothing since then." : Self.wordsOfReplay + more,
      action: reader.view.link(key.page + ["recover"]), fields: [("since", day)],
      button: some.count == 1 ? "Send 1 event" : "Send \(some.count) events", back: reader.view.link(to: key))
    guard body["step"] == "confirm", !some.isEmpty else { return ConsoleAnswer.page(200, preview.html) }
    do {
      if let wait = try await takeReplays(max(1, some.count / Self.recoveredForOne), key.publisherId) {
        return tooMany(wait, preview)
      }
      var begun = 0
      for start in stride(from: 0, to: some.count, by: Self.recoveredInOneTrip) {
        let part = Array(some.dropFirst(start).prefix(Self.recoveredInOneTrip))
        begun += try await deliveries.recover(
          part, publisher: key.publisherId, endpoint: key.id, isFirst: start == 0, by: reader.view.person.name
        ).count
      }
      context.log.info(
        "events recovered at the console",
        ["publisherId": .int(key.publisherId.number), "endpoint": .string(key.id.text), "count": .int(Int64(begun))])
      return ConsoleAnswer.seeOther(reader.view.link(to: key).address)
    } catch {
      log("console could not recover events", error)
      preview.refusal = "A server did not answer, so a part may be done. Send the form again: each event is sent once."
      return ConsoleAnswer.page(503, preview.html)
    }
  }

  // MARK: Pieces

  private nonisolated static let wordsOfReplay =
    "A notifier sends it within a minute. The webhook-id stays the same, so a receiver that has it already drops it."

  /// Refuses to send to an endpoint that is disabled.
  private func mustTakeReplays(_ endpoint: ConsoleEndpoint) async throws {
    let state = try await endpoints.states(of: [endpoint.key]).first
    guard let disabled = state?.health.disabled else { return }
    throw ConsoleRefusal.notDone(
      409, "The endpoint is disabled: \(disabled.reason.words). Enable it first, on its page.")
  }

  /// Takes from what a publisher may ask for, over the API and here.
  ///
  /// - Returns: the time until there will be enough; `nil` if there was.
  func takeReplays(_ count: Int, _ publisher: PublisherId) async throws -> Duration? {
    let perSecond = context.settings.gateway.limits.replaysPerSecond
    let most = perSecond * EndpointPacing.secondsOfReplays
    return try await pacing.takeReplays(min(most, count), publisher: publisher, perSecond: perSecond)
  }

  func tooMany(_ wait: Duration, _ preview: ActionPreview) -> HTTPServerResponse {
    var preview = preview
    preview.refusal = "Too many events are sent again for this publisher. Send the form again in some seconds."
    let seconds = max(1, (wait.wholeMilliseconds + 999) / 1000)
    return ConsoleAnswer.page(429, preview.html, [("Retry-After", "\(seconds)")])
  }
}

import Coordination
import Domain
import HTTPServer
import Ledger
import Observability
import Service

/// Enables, disables and tests endpoints, and rotates their secrets: the same commits as the API's, with the person's
/// name in the audit log.
extension ConsoleAPI {
  func change(
    _ key: EndpointKey, _ change: EndpointChange, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let body = try readForm(request, on: key.publisherId, reader).body
    guard change.isAllowed(reader.view.person.role) else {
      throw ConsoleRefusal.notDone(403, "The page would show a secret. Ask somebody with the role operator.")
    }
    guard let endpoint = try await known(key), endpoint.source != "forward" else { return reader.nothing }
    let state = try await endpoints.states(of: [key]).first ?? ConsoleEndpoint.State()
    if let refusal = change.refusal(endpoint, state) { throw ConsoleRefusal.notDone(409, refusal) }
    let isConfirmed = body["step"] == "confirm"
    switch change {
    case .enable, .disable:
      let preview = switching(change == .enable, endpoint, state, reader.view)
      return isConfirmed ? try await switchOver(change == .enable, endpoint, preview, reader) : page(preview)
    case .rotate: return try await rotate(endpoint, body, isConfirmed, reader)
    case .test: return try await test(endpoint, body, isConfirmed, reader)
    }
  }

  private func page(_ preview: ActionPreview, _ status: Int = 200, refusal: String? = nil) -> HTTPServerResponse {
    var preview = preview
    preview.refusal = refusal
    return ConsoleAnswer.page(status, preview.html)
  }

  private func note(_ event: String, _ key: EndpointKey) {
    context.log.info(event, ["publisherId": .int(key.publisherId.number), "endpoint": .string(key.id.text)])
  }

  /// What every preview of an endpoint says about it.
  private func facts(_ endpoint: ConsoleEndpoint, _ view: ConsoleView) -> [(String, HTML?)] {
    [
      ("Server", .text(endpoint.shownURL(to: view.person.role))),
      ("Name", endpoint.name.isEmpty ? nil : .text(endpoint.name)),
      ("Topics", endpoint.topics.isEmpty ? nil : .text(endpoint.topics.map(\.text).joined(separator: ", "))),
    ]
  }

  private func above(_ key: EndpointKey) -> String { "Endpoint \(key.id) of publisher \(key.publisherId)" }

  // MARK: Enable and disable

  private func switching(
    _ isOn: Bool, _ endpoint: ConsoleEndpoint, _ state: ConsoleEndpoint.State, _ view: ConsoleView
  ) -> ActionPreview {
    let now: (String, HTML?) = ("Now", state.mark(view))
    let disabled = state.health.disabled.map { ("Disabled because", Optional(HTML.text($0.reason.words))) }
    return ActionPreview(
      view: view, title: isOn ? "Enable the endpoint?" : "Disable the endpoint?", above: above(endpoint.key),
      facts: facts(endpoint, view) + [now] + (disabled.map { [$0] } ?? []),
      words: isOn
        ? "It gets new events again within a minute. What it has missed, this page can send again afterwards."
        : "It gets no event until somebody enables it. What happens meanwhile counts as missed, and can be sent again "
          + "then.",
      action: view.link(to: isOn ? .enable : .disable, endpoint.key),
      button: isOn ? "Enable the endpoint" : "Disable the endpoint", back: view.link(to: endpoint.key))
  }

  private func switchOver(
    _ isOn: Bool, _ endpoint: ConsoleEndpoint, _ preview: ActionPreview, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (key, person) = (endpoint.key, reader.view.person.name)
    do {
      let isThere =
        isOn
        ? try await endpointStore.enable(
          key.publisherId, key.id, isConfigured: endpoint.source == "configuration", by: person)
        : try await endpointStore.disable(key.publisherId, key.id, by: person)
      guard isThere else { return reader.nothing }
      note(isOn ? "endpoint enabled at the console" : "endpoint disabled at the console", key)
      return ConsoleAnswer.seeOther(reader.view.link(to: key).address)
    } catch {
      log("console could not switch an endpoint", error)
      return page(
        preview, 503, refusal: "The ledger did not answer, so it may be done. The endpoint's page shows it.")
    }
  }

  // MARK: Rotate

  /// Why a secret is not replaced. The commit throws it, and nothing has changed.
  private enum RotationRefusal: Error {
    case changedMeanwhile
    case tooMany
  }

  private func rotate(
    _ endpoint: ConsoleEndpoint, _ body: FormBody, _ isConfirmed: Bool, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (key, view) = (endpoint.key, reader.view)
    guard let now = try await endpointStore.endpoint(key.publisherId, key.id) else { return reader.nothing }
    let chosen = body["overlap"].flatMap { Int64($0) }.flatMap(SecretOverlap.init)
    guard !isConfirmed || chosen != nil else { throw ConsoleRefusal.malformed }
    let overlap = chosen ?? .day
    let ends = now.secrets.compactMap(\.expiresAt).filter { view.now < $0 }
    let preview = ActionPreview(
      view: view, title: "Rotate the secret?", above: above(key),
      facts: facts(endpoint, view) + [
        ("Older secrets that still sign", .text("\(ends.count)")),
        ("The last of them ends", ends.max().map { view.time($0) }),
      ],
      words: "The next page shows the new secret, once. Meanwhile each delivery has two signatures, so the receiver "
        + "has time to change.",
      action: view.link(to: .rotate, key), fields: [("seen", "\(now.updatedAt)")],
      asking: [
        .field(
          "overlap", "The old secret still signs",
          .select("overlap", SecretOverlap.allCases.map { ("\($0.rawValue)", $0.words) }, "\(overlap.rawValue)"))
      ], button: "Rotate the secret", back: view.link(to: key))
    guard isConfirmed else { return page(preview) }
    // A form that is sent twice must not make two secrets, of which nobody sees the first.
    guard let seen = body["seen"].flatMap({ Int64($0) }) else { throw ConsoleRefusal.malformed }
    let new: [UInt8]
    do {
      new = try WebhookSecret.newKey(now.format)
      let changed = try await endpointStore.change(key.publisherId, key.id, by: view.person.name) { endpoint, now in
        guard endpoint.updatedAt == seen else { throw RotationRefusal.changedMeanwhile }
        guard endpoint.rotate(to: new, overlap: overlap.rawValue * 1000, now: now) else {
          throw RotationRefusal.tooMany
        }
      }
      guard let changed else { return reader.nothing }
      note("secret rotated at the console", key)
      return ConsoleAnswer.page(200, NewSecretPage(view: view, key: key, endpoint: changed).html)
    } catch RotationRefusal.changedMeanwhile {
      return page(
        preview, 409,
        refusal: "The endpoint was changed meanwhile, perhaps by this form. If nobody saw the new secret, rotate again."
      )
    } catch RotationRefusal.tooMany {
      return page(
        preview, 409,
        refusal:
          "\(WebhookEndpoint.maxOldSecrets) old secrets still sign. Wait until one ends, or let them end at once.")
    } catch let error as UnreadableSecrets {
      return page(preview, 409, refusal: "This console cannot read the old secret: \(error). It can only end at once.")
    } catch let error as MissingKeysFile {
      return page(preview, 409, refusal: "This console cannot store a secret: \(error).")
    } catch {
      log("console could not rotate a secret", error)
      return page(
        preview, 503,
        refusal:
          "The ledger did not answer, so it may be done. Send the form again: it replaces this secret once at most.")
    }
  }

  // MARK: Test

  private func test(
    _ endpoint: ConsoleEndpoint, _ body: FormBody, _ isConfirmed: Bool, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    let (key, view) = (endpoint.key, reader.view)
    let token = try formToken("token", in: body, isConfirmed: isConfirmed)
    let event = Event(
      testing: key.id, of: key.publisherId, id: Event.id(ofTest: token, at: key.id, of: key.publisherId),
      traceparent: TraceParent().description, now: context.now())
    let preview = ActionPreview(
      view: view, title: "Send a test event?", above: above(key), facts: facts(endpoint, view),
      words:
        "A notifier sends it within a minute, to this endpoint only. It says nothing about any customer. Its page shows "
        + "what the endpoint answers.",
      action: view.link(to: .test, key), fields: [("token", token)], button: "Send the test event",
      back: view.link(to: key))
    guard isConfirmed else { return page(preview) }
    do {
      if let wait = try await takeReplays(1, key.publisherId) { return tooMany(wait, preview) }
      try await deliveries.test(event, at: key.id, by: view.person.name)
      note("test event begun at the console", key)
      return ConsoleAnswer.seeOther(view.link(to: EventKey(publisherId: key.publisherId, id: event.id)).address)
    } catch {
      log("console could not send a test event", error)
      return page(
        preview, 503, refusal: "A server did not answer, so it may be done. Send the form again: the test is sent once."
      )
    }
  }
}

import AMQP
import Configuration
import Coordination
import Crypto
import Domain
import EventLoop
import Formats
import HTTPServer
import JSON
import Ledger
import Messaging
import Observability
import Service

extension WebhookAPI {
  /// The maximum number of events that one request recovers. A client does not wait for ever.
  static let recoveredAtOnce = 10_000
  /// So many recovered events count as one that is sent again.
  private static let recoveredForOne = 100
  /// The number of events that the gateway reads and publishes at a time.
  private static let batch = 200

  /// Delivers a test event to one endpoint only.
  func test(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    _ = try await enabledEndpoint(id)
    try await takeReplays(1)
    let event = EventId("evt_" + (try random()))
    let record = Event(
      testing: id, of: publisher.id, id: event, traceparent: TraceParent().description, now: context.now())
    let delivery = try await context.asking { try await deliveries.test(record, at: id) }
    try await publish(delivery)
    context.log.info("test event published", fields(id))
    return accepted(Replayed(eventId: event, endpointId: id))
  }

  /// Delivers an event to an endpoint once more, whatever the results of earlier attempts.
  func resend(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let (event, id) = (EventId(call[.eventId]), EndpointId(call[.endpointId]))
    _ = try await enabledEndpoint(id)
    guard EventId.isValid(event.text) else { throw Self.unknownEvent }
    try await takeReplays(1)
    let round = DeliveryRound(try random())
    let again = try await context.asking {
      try await deliveries.resend(publisher: publisher.id, event: event, to: id, round: round)
    }
    guard let again else { throw Self.unknownEvent }
    try await publish(again)
    context.log.info("event sent again", fields(id))
    return accepted(Replayed(eventId: event, endpointId: id))
  }

  /// Delivers the events since a time that an endpoint did not get, and will not get by itself.
  ///
  /// The endpoint is owed an event until it gets it. So a client that breaks off loses nothing: it can ask again. If a
  /// client asks for an event twice, the notifier attempts it once: the time at which the event was given up names the
  /// round.
  func recover(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    let reader = try BodyReader(try jsonBody(call.request), knows: ["since"])
    guard let since = try reader.time("since") else { throw reader.problem("since", "is missing") }
    _ = try await enabledEndpoint(id)
    let owed = try await context.asking {
      try await deliveries.owed(
        publisher: publisher.id, endpoint: id, since: since, limit: Self.recoveredAtOnce + 1)
    }
    var recovered = 0
    let now = owed.prefix(Self.recoveredAtOnce)
    // A request takes one replay for each hundred events. So one of the maximum size may take all replays that a
    // publisher may ask for at once. A smaller rate than usual must still let it pass.
    let most = context.settings.gateway.limits.replaysPerSecond * EndpointPacing.secondsOfReplays
    try await takeReplays(min(most, max(1, now.count / Self.recoveredForOne)))
    for start in stride(from: 0, to: now.count, by: Self.batch) {
      let some = Array(now[start..<min(start + Self.batch, now.count)])
      let again = try await context.asking {
        try await deliveries.recover(some, publisher: publisher.id, endpoint: id, isFirst: start == 0)
      }
      let tasks = again.map { delivery in Task { @LoopActor in try await publish(delivery) } }
      // Wait for all tasks before throwing the first failure: no task may continue after the answer.
      var failure: (any Error)?
      for task in tasks {
        do {
          try await task.value
          recovered += 1
        } catch {
          failure = error
        }
      }
      if let failure { throw failure as? Problem ?? .internalError }
    }
    context.log.info("events recovered", ["endpoint": .string(id.text), "count": .int(Int64(recovered))])
    let more = owed.count > now.count ? owed.last.map { rfc3339(milliseconds: $0.time) } : nil
    return jsonResponse(202, Recovered(recovered: recovered, continueSince: more))
  }

  /// Limits a publisher's rate: its replays take the notifiers' time, and space in the ledger.
  private func takeReplays(_ count: Int) async throws(Problem) {
    let perSecond = context.settings.gateway.limits.replaysPerSecond
    let wait = try await context.asking {
      try await pacing.takeReplays(count, publisher: publisher.id, perSecond: perSecond)
    }
    guard let wait else { return }
    metrics.limited(.publisherReplays, publisher.id)
    throw .limited(.publisherReplays, wait)
  }

  /// Finds an endpoint that is not disabled. The notifier delivers nothing to a disabled endpoint.
  private func enabledEndpoint(_ id: EndpointId) async throws(Problem) -> WebhookEndpoint {
    let found = try await endpoint(id)
    if let disabled = try await health([id])[0].disabled {
      throw .conflict("The endpoint is disabled (\(disabled.reason.rawValue)); enable it first.")
    }
    return found
  }

  private func publish(_ delivery: Delivery) async throws(Problem) {
    do {
      let message = delivery.message(queue: context.deliveryQueues.next(of: delivery.publisherId))
      try await queue.publish(message, timeout: context.settings.gateway.publishTimeout)
    } catch {
      context.log.warning("publish failed", ["cause": .failure(error)])
      throw .unavailable("The message broker did not take the delivery.")
    }
  }

  private func accepted(_ replayed: Replayed) -> HTTPServerResponse {
    var response = jsonResponse(202, replayed)
    response.headers.append(
      ("Location", "/3.1/webhook_events/\(PercentCoding.encoded(replayed.eventId.text))/attempts"))
    return response
  }

  private func random() throws(Problem) -> String { try drawn { Hex.encode(try secureRandomBytes(16)) } }

  private static let unknownEvent = Problem.notFound(
    "The publisher has no event with this id, or it is kept no longer (notifier.logRetentionSeconds).")

  private struct Replayed: Encodable {
    let eventId: EventId
    let endpointId: EndpointId
  }

  private struct Recovered: Encodable {
    let recovered: Int
    /// The value for the next request's `since`, if one request cannot recover all events.
    let continueSince: String?
  }
}

extension BodyReader {
  /// A time, as milliseconds since 1970 or as RFC 3339 text; `nil` if the client left it out.
  func time(_ name: String) throws(Problem) -> Int64? {
    let expected = "expected a time after RFC 3339, such as 2026-01-31T12:00:00Z, or milliseconds since 1970"
    guard has(name) else { return nil }
    if let number = try? integer(name, Int64.times) { return number }
    guard let text = try? text(name, .ruled), let time = milliseconds(rfc3339: text) else {
      throw problem(name, expected)
    }
    // Nothing is older than 1970, so a time before it asks for everything.
    return max(0, time)
  }
}

import Configuration
import Domain
import EventLoop
import Formats
import HTTPServer
import JSON
import Ledger
import Observability

extension WebhookAPI {
  /// Lists the attempts to deliver to an endpoint, newest first.
  func endpointAttempts(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EndpointId(call[.endpointId])
    let (page, result) = try log(call.request)
    _ = try await endpoint(id)
    let found = try await context.asking {
      try await deliveries.attempts(
        publisher: publisher.id, endpoint: id, limit: page.limit, cursor: page.cursor, result: result)
    }
    return jsonResponse(200, written: found.body())
  }

  /// Lists the attempts to deliver an event to all endpoints, newest first.
  ///
  /// The list is empty before the first attempt, since a client may be waiting for it. It is empty for an unknown event
  /// too: the gateway cannot tell the two apart.
  func eventAttempts(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let id = EventId(call[.eventId])
    let (page, result) = try log(call.request)
    guard EventId.isValid(id.text) else { throw .invalidPath("eventId: expected an event's id, as in webhook-id") }
    let found = try await context.asking {
      try await deliveries.attempts(
        publisher: publisher.id, event: id, limit: page.limit, cursor: page.cursor, result: result)
    }
    return jsonResponse(200, written: found.body())
  }

  private func log(
    _ request: HTTPServerRequest
  ) throws(Problem) -> (page: PageRequest, result: DeliveryAttempt.Result?) {
    let page = try PageRequest(request, others: ["outcome"])
    _ = try page.start { DeliveryLedger.isCursor($0) ? $0 : nil }
    guard let text = request.query("outcome") else { return (page, nil) }
    guard let result = DeliveryAttempt.Result(rawValue: text) else {
      throw .invalidQuery(
        "outcome: expected one of \(DeliveryAttempt.Result.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return (page, result)
  }
}

extension AttemptPage {
  /// The page as the API shows it. It may end before its limit, because endpoints write the longest texts in it.
  func body(most: Int = PageText<Entry>.most) -> [UInt8] {
    let page = PageText(entries, most: most) { jsonText(AttemptAnswer($0.attempt)) }
    return JSONWriter.object { list in
      list.member("attempts", array: page.elements)
      list.member("nextCursor", page.end?.cursor ?? next)
    }
  }
}

/// An attempt to deliver, as the API shows it.
struct AttemptAnswer: Encodable, Equatable {
  let eventId: EventId
  let endpointId: EndpointId
  let topic: EventTopic
  let version: Int64?
  let attempt: Int
  let time: String
  let status: Int?
  let durationMilliseconds: Int64
  let error: String?
  /// The beginning of the endpoint's answer: `DeliveryAttempt.keptAnswer`.
  let response: String?
  let outcome: String
  let nextAttemptAt: String?

  init(_ attempt: DeliveryAttempt) {
    eventId = attempt.eventId
    endpointId = attempt.endpointId
    topic = attempt.topic
    version = attempt.version
    self.attempt = attempt.number
    time = rfc3339(milliseconds: attempt.time)
    status = attempt.status
    durationMilliseconds = attempt.durationMilliseconds
    error = attempt.error
    response = attempt.answer
    outcome = attempt.result.rawValue
    nextAttemptAt = attempt.nextAt.map(rfc3339)
  }
}

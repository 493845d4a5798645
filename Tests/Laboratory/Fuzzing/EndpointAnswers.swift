import Crypto
import Domain
import Doors
import Ledger

@testable import Notifier

/// The answer of a webhook endpoint, which belongs to a stranger: what the notifier decides by it, and what it records.
enum EndpointAnswers {
  private static let statuses = [200, 204, 301, 400, 410, 429, 500, 503]
  private static let formats: [WebhookEndpoint.Format] = DoorRegistry.catalog.formats

  static func run(_ input: [UInt8]) {
    var parts = FuzzInput(input)
    let choice = Int(parts.byte())
    // The secret is a part of the answer, and its base64 too: endpoints echo what they got.
    let (start, length, limit) = (Int(parts.byte()), Int(parts.byte()), Int(parts.byte()))
    let retryAfter = parts.text()
    let answer = Array(parts.rest)
    let key = Array(answer.dropFirst(start).prefix(length))
    let decoded = Base64.decode(String(decoding: key, as: UTF8.self)) ?? []
    let endpoint = WebhookEndpoint(
      id: "e", url: "https://hooks.example.com/", topics: [], format: formats[choice % 3],
      secrets: [key, decoded].map { WebhookEndpoint.Secret(key: $0) })

    let filter = SecretFilter(endpoint)
    precondition(filter.clean(answer, limit: limit).count <= limit, "the record is longer than its limit")
    _ = filter.clean(String(decoding: answer, as: UTF8.self))
    record(answer, statuses[choice / 3 % statuses.count], retryAfter, attempt: 1 + choice / 100, endpoint)
  }

  private static func record(
    _ answer: [UInt8], _ status: Int, _ retryAfter: String, attempt: Int, _ endpoint: WebhookEndpoint
  ) {
    var ending = WebhookAttempt.Ending()
    ending.status = status
    ending.retryAfter = EndpointRetryAfter.wait(retryAfter, now: now)
    ending.answer = answer
    let step = ending.step(number: attempt, jitter: 1.2, schedule: [.seconds(5), .seconds(604_800)])
    guard
      let delivery = try? Delivery(
        eventId: "evt_1", endpointId: "e", headers: [:], body: Array(#"{"broadcasterId":7,"topic":"t"}"#.utf8))
    else { fatalError("no delivery") }
    let record = ending.record(delivery, endpoint, step, now, at: now)
    // It takes no less as JSON.
    precondition((record.answer ?? "").utf8.count <= DeliveryAttempt.keptAnswerJSONBytes, "too long for its row")
  }

  private static let now: Int64 = 1_790_000_000_000
}

import Domain
import Postgres

/// A row of `attempts`.
struct AttemptRow: ReadableRecord {
  var id: Int64 = 0
  var publisherId: PublisherId = 0
  var round = DeliveryRound.first
  /// A result of a newer notifier is unknown here.
  var result = ""
  /// Without its result.
  var attempt = DeliveryAttempt(
    eventId: EventId(""), endpointId: .unknown, topic: "", number: 1, time: 0, result: .failed)

  static let blank = AttemptRow()
  var title: String { "attempt \(id)" }

  static let table = Table<AttemptRow>("attempts", key: ["at", "id"]) { columns in
    columns.read("at", .timestamptz, export: "time") { $0.attempt.time = $1 }
    columns.read("id", .bigint) { $0.id = $1 }
    columns.written("publisher_id", .publisher) { $0.publisherId }
    columns.required(
      "endpoint_id", .id(of: EndpointId.self), { $0.attempt.endpointId }, { $0.attempt.endpointId = $1 },
      export: "endpointId")
    columns.required(
      "event_id", .id(of: EventId.self), { $0.attempt.eventId }, { $0.attempt.eventId = $1 }, export: "eventId")
    columns.written("round", .id(of: DeliveryRound.self)) { $0.round }
    columns.required("topic", .id(of: EventTopic.self), { $0.attempt.topic }, { $0.attempt.topic = $1 })
    columns.optional("version", .bigint, { $0.attempt.version }, { $0.attempt.version = $1 })
    columns.required(
      "number", .integer, { Int32(clamping: $0.attempt.number) }, { $0.attempt.number = Int($1) })
    columns.optional(
      "status", .integer, { $0.attempt.status.map { Int32(clamping: $0) } },
      { $0.attempt.status = $1.map { Int($0) } }, export: "status")
    columns.required(
      "duration_ms", .bigint, { $0.attempt.durationMilliseconds }, { $0.attempt.durationMilliseconds = $1 })
    columns.optional("error", .text, { $0.attempt.error }, { $0.attempt.error = $1 })
    // The endpoint may have told about the customer.
    columns.optional(
      "answer", .text, { $0.attempt.answer }, { $0.attempt.answer = $1 }, export: "response", person: .cleared)
    columns.required("outcome", .text, { $0.result }, { $0.result = $1 })
    columns.optional("next_at", .timestamptz, { $0.attempt.nextAt }, { $0.attempt.nextAt = $1 })
  }

  /// The attempt; `nil` for a result of a newer notifier.
  var known: DeliveryAttempt? {
    guard let result = DeliveryAttempt.Result(rawValue: result) else { return nil }
    var attempt = attempt
    attempt.result = result
    return attempt
  }
}

extension AttemptRow {
  /// An attempt as the log keeps it. PostgreSQL keeps no NUL in a text, and an endpoint may answer with one.
  init(_ attempt: DeliveryAttempt, of change: DeliveryChange) {
    (publisherId, round, result) = (change.publisherId, change.round, attempt.result.rawValue)
    self.attempt = attempt
    (self.attempt.endpointId, self.attempt.eventId) = (change.endpointId, change.eventId)
    self.attempt.topic = EventTopic(attempt.topic.text.withoutNUL)
    self.attempt.error = attempt.error?.withoutNUL
    self.attempt.answer = attempt.answer?.withoutNUL
  }
}

extension String {
  /// The text with a replacement character for each NUL.
  var withoutNUL: String {
    guard utf8.contains(0) else { return self }
    return String(UnicodeScalarView(unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
  }
}

import Domain
import Postgres

/// A row of `events`.
struct EventRow: ReadableRecord {
  var id = EventId("")
  var publisherId: PublisherId = 0
  var customerId: CustomerId?
  var topic: EventTopic = ""
  var version: Int64?
  var traceparent: String?
  var time: Int64 = 0
  var body: [UInt8] = []

  static let blank = EventRow()
  var title: String { "event \(id)" }

  static let table = Table<EventRow>("events", key: ["id"]) { columns in
    columns.required("id", .id(of: EventId.self), { $0.id }, { $0.id = $1 }, export: "eventId")
    columns.required("publisher_id", .publisher, { $0.publisherId }, { $0.publisherId = $1 })
    columns.optional(
      "customer_id", .id(of: CustomerId.self), { $0.customerId }, { $0.customerId = $1 }, person: .cleared)
    columns.required("topic", .id(of: EventTopic.self), { $0.topic }, { $0.topic = $1 })
    columns.optional("version", .bigint, { $0.version }, { $0.version = $1 })
    columns.optional("traceparent", .text, { $0.traceparent }, { $0.traceparent = $1 })
    columns.required("time", .timestamptz, { $0.time }, { $0.time = $1 }, export: "time")
    // An event that somebody is owed stays as it was told, and goes then. The erasure deletes all others.
    columns.required("body", .bytea, { $0.body }, { $0.body = $1 }, export: "body", person: .withRow)
    columns.other("erased", "boolean")
    // PostgreSQL fills them in. Events from before the schema step `pull` have none.
    columns.other("horizon", "bigint", isNullable: true)
    columns.other("place", "bigint", isNullable: true)
  }

  var event: Event {
    Event(
      id: id, publisherId: publisherId, customerId: customerId, topic: topic, version: version,
      traceparent: traceparent, time: time, body: body)
  }
}

extension EventRow {
  init(_ event: Event) {
    (id, publisherId, customerId) = (event.id, event.publisherId, event.customerId)
    (topic, version, traceparent) = (event.topic, event.version, event.traceparent)
    (time, body) = (event.time, event.body)
  }
}

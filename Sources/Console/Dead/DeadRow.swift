import Domain
import Formats
import Ledger
import Messaging

/// Something that was given up, as a list shows it.
struct DeadRow: Sendable, Equatable {
  var id: String
  var cause: DeadCause
  /// What happened, in words. It may be an endpoint's answer.
  var reason: String?
  /// `nil` if nobody can say whose it is.
  var publisherId: PublisherId?
  var endpointId: EndpointId?
  var topic: String?
  var attempt: Int?
  var customers: [CustomerId] = []
  /// When it was given up, in milliseconds since 1970.
  var buriedAt: Int64?

  init(id: String, cause: DeadCause) { (self.id, self.cause) = (id, cause) }

  init(_ message: DeadMessage) {
    (id, cause, reason) = (message.id, message.cause, message.reason)
    (publisherId, endpointId, topic) = (message.publisherId, message.endpointId, message.topic?.text)
    (attempt, customers, buriedAt) = (message.attempt, message.people.sorted(), message.buriedAt ?? message.time)
  }

  init(_ notification: NotificationStore.PutAside) {
    (id, cause, reason) = (notification.key.uuid.text, .crashed, notification.reason)
    (publisherId, buriedAt) = (notification.key.publisherId, notification.time)
    topic = notification.type
  }
}

import Domain
import Formats

extension EndpointKey {
  /// The segments of the page's address.
  var page: [String] { ["endpoints", "\(publisherId)", id.text] }
}

/// An event of a publisher's, or what is delivered in its place.
struct EventKey: Hashable, Sendable {
  let publisherId: PublisherId
  let id: EventId

  /// The segments of the page's address.
  var page: [String] { ["events", "\(publisherId)", id.text] }
}

/// The synchronizations of a publisher that have one id.
struct SynchronizationsKey: Hashable, Sendable {
  let publisherId: PublisherId
  let id: SynchronizationId

  /// The segments of the page's address.
  var page: [String] { ["synchronizations", "\(publisherId)", id.text] }
}

extension NotificationKey {
  /// The segments of the page's address.
  var page: [String] { ["notifications", "\(publisherId)", uuid.text] }
}

extension ConsoleView {
  func link(to endpoint: EndpointKey, query: [(name: String, value: String)] = []) -> Link {
    link(endpoint.page, query: query)
  }

  func link(to event: EventKey) -> Link { link(event.page) }

  func link(to synchronizations: SynchronizationsKey) -> Link { link(synchronizations.page) }

  func link(to notification: NotificationKey) -> Link { link(notification.page) }
}

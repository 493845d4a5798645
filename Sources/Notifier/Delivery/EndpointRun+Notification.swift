import Domain
import EventLoop
import Ledger
import Observability

/// Passes on what Apple posted. The message only names the notification, so the body is read for each attempt.
extension EndpointRun {
  /// What an attempt posts.
  enum Content {
    /// The event, as the message has it.
    case event
    /// The body of a notification.
    case posted([UInt8])
    /// A notification that the ledger does not have any more.
    case gone
    /// The ledger is away.
    case unknown
  }

  /// Reads what the attempt posts.
  func content() async -> Content {
    guard let notification = delivery.notification else { return endpoint.isForward ? .gone : .event }
    do {
      return try await notifier.notifications.posted(notification).map(Content.posted) ?? .gone
    } catch {
      log.warning("the ledger could not be asked for the notification", ["cause": .failure(error)])
      return .unknown
    }
  }
}

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
    /// A notification that the ledger no longer has, or of an environment that the URL no longer gets.
    case gone
    /// The ledger is away.
    case unknown
  }

  /// Reads what the attempt posts.
  func content() async -> Content {
    guard let notification = delivery.notification else {
      if endpoint.isForward { log.error("an event has the address of a URL for notifications") }
      return endpoint.isForward ? .gone : .event
    }
    do {
      guard let posted = try await dependencies.notifications.posted(notification) else {
        log.error("the ledger no longer has the notification")
        return .gone
      }
      guard endpoint.getsNotifications(of: posted.environment) else {
        log.info("a notification of this environment is no longer passed on to this URL")
        return .gone
      }
      return .posted(posted.body)
    } catch {
      log.warning("the ledger could not be asked for the notification", ["cause": .failure(error)])
      return .unknown
    }
  }
}

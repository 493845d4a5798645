import Domain
import EventLoop

extension Problem {
  /// A request beyond a limit of its publisher or customer. Nothing was kept of it.
  static func limited(_ limit: Limit, _ wait: Duration) -> Problem {
    let (code, detail) = words(of: limit)
    // Rounded up: a client that comes a moment too early would be refused again.
    let seconds = (wait.wholeMilliseconds + 999) / 1000
    return Problem(429, code, "Too many requests", detail: detail, retryAfter: Int(clamping: max(1, seconds)))
  }

  /// A new endpoint of a publisher that has all it may have. No time makes room, so there is no `Retry-After`.
  ///
  /// - Parameter most: how many it may have.
  static func tooManyEndpoints(_ most: Int) -> Problem {
    Problem(
      409, words(of: .webhookEndpoints).code, "Too many endpoints",
      detail: "A publisher may have \(most) endpoints, and would have more. Delete some of them first.")
  }

  private static func words(of limit: Limit) -> (code: String, detail: String) {
    switch limit {
    case .publisherRate:
      ("LIM0001", "The publisher sends more registrations than gateway.limits.registrationsPerSecond allows.")
    case .customerRate:
      ("LIM0002", "The customer sends more registrations than gateway.limits.customerRegistrationsPerSecond allows.")
    case .customerOpen:
      ("LIM0003", "The customer has gateway.limits.openPerCustomer synchronizations that are not finalized.")
    case .publisherOpen:
      ("LIM0004", "The publisher has gateway.limits.openPerPublisher synchronizations that are not finalized.")
    case .publisherReads: ("LIM0005", "The token reads more often than gateway.limits.readsPerSecond allows.")
    case .publisherWrites: ("LIM0012", "The publisher changes more than gateway.limits.writesPerSecond allows.")
    case .publisherReplays:
      (
        "LIM0007",
        "The publisher sends more events again than gateway.limits.replaysPerSecond allows; a hundred that are recovered "
          + "count as one."
      )
    case .customerGrants: ("LIM0009", "The customer has gateway.limits.openGrantsPerCustomer open grants.")
    case .publisherGrants:
      ("LIM0010", "The publisher has given gateway.limits.grantsPerDay grants today; the day begins at 00:00 UTC.")
    case .sandboxAccess:
      ("LIM0014", "The publisher has as many customers with sandbox access by hand as it may have.")
    case .webhookEndpoints: ("LIM0017", "The publisher has as many webhook endpoints as it may have.")
    case .orderLookups:
      ("LIM0011", "The calls that Apple allows for the order ids of the app are used up for now.")
    case .orderShare:
      ("LIM0011", "The publisher has asked for its part of the order ids that Apple may be asked about in a second.")
    case .customerReads: ("LIM0006", "The customer reads more often than gateway.limits.customerReadsPerSecond allows.")
    case .exports:
      ("LIM0013", "The publisher has an export at this gateway, or others have as many as may run. Ask later.")
    case .imports:
      ("LIM0015", "The publisher has as many imports as it may have.")
    case .importReports:
      ("LIM0016", "As many reports of imports are read at this gateway as may. Ask later.")
    case .eventWaits:
      ("LIM0008", "As many requests wait for events at this gateway as may. Ask without wait, or ask later.")
    }
  }
}

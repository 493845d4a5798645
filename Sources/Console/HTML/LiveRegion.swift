/// A part of a page that the console's script reads again. A page has each of them once at most.
///
/// It has no field that a person fills in: what somebody has typed would go with the rest.
enum LiveRegion: String, CaseIterable {
  /// Of a list, or of one thing.
  case list, verdict
  /// Of a customer.
  case access, purchases, grants, timeline
  /// Of a purchase.
  case transactions, requests, owners, notifications
  /// Of webhooks.
  case hours, attempts, deliveries, answers
  /// What is known of each app, beside Apple's notifications.
  case apps
  /// Of the fleet.
  case alarms, processes, servers, queues, budgets
  /// Of a life that is played.
  case life, choices, renewals

  var id: String { "live-\(rawValue)" }

  /// The script reads the page again after so many seconds.
  var seconds: Int {
    switch self {
    case .alarms, .processes, .servers, .queues, .budgets, .life, .choices, .renewals: 5
    default: 15
    }
  }
}

extension ConsoleView {
  /// Pieces of a page as a region, if the script may read the page again.
  func region(_ region: LiveRegion, _ pieces: HTML...) -> HTML {
    canBeReadAgain ? .element(.div, [.of(.id, region.id), .live(region)], pieces) : .all(pieces)
  }
}

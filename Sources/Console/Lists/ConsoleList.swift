/// The pages that list something of several publishers. Each has the address of its name.
enum ConsoleList: String, Sendable, CaseIterable {
  case refundRequests = "refund-requests"
  case unclaimed
  case endpoints
  case notifications
  case synchronizations
  case audit
  case configuration

  /// What people call it, here and in the line of links.
  var title: String {
    switch self {
    case .refundRequests: "Refund requests"
    case .unclaimed: "Unclaimed"
    case .endpoints: "Webhooks"
    case .notifications: "Notifications"
    case .synchronizations: "Synchronizations"
    case .audit: "Audit"
    case .configuration: "Configuration"
    }
  }

  /// Its name in metrics.
  var label: String {
    switch self {
    case .refundRequests: "refundRequests"
    case .unclaimed, .audit, .configuration, .endpoints, .notifications, .synchronizations: rawValue
    }
  }

  /// The parameters that choose what it shows, besides `publisher` and `after`.
  var filters: [String] {
    switch self {
    case .refundRequests, .notifications: ["state"]
    case .unclaimed: ["environment"]
    case .audit: ["customer"]
    case .endpoints, .synchronizations, .configuration: []
    }
  }

  /// More publishers than these are too many for one page: each costs a look into an index.
  var mostPublishers: Int {
    switch self {
    case .unclaimed: 1
    // It asks no index.
    case .configuration: .max
    default: 200
    }
  }

  /// Whether it has rows of which nobody can say whose they are. They belong to publisher 0, and who may see all
  /// publishers sees them.
  var hasRowsOfNobody: Bool { self == .audit }
}

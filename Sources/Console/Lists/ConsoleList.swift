/// The pages that list something of several publishers. Each has the address of its name.
enum ConsoleList: String, Sendable, CaseIterable {
  case refundRequests = "refund-requests"
  case unclaimed
  case endpoints
  case notifications
  case synchronizations
  case dead
  case imports
  case audit
  case configuration
  case fleet

  /// What people call it, here and in the line of links.
  var title: String {
    switch self {
    case .refundRequests: "Refund requests"
    case .unclaimed: "Unclaimed"
    case .endpoints: "Webhooks"
    case .notifications: "Notifications"
    case .synchronizations: "Synchronizations"
    case .dead: "Given up"
    case .imports: "Imports"
    case .audit: "Audit"
    case .configuration: "Configuration"
    case .fleet: "Fleet"
    }
  }

  /// Its name in metrics.
  var label: String {
    switch self {
    case .refundRequests: "refundRequests"
    case .unclaimed, .audit, .configuration, .dead, .endpoints, .fleet, .imports, .notifications, .synchronizations:
      rawValue
    }
  }

  /// The parameters that choose what it shows, besides `publisher` and `after`.
  var filters: [String] {
    switch self {
    case .refundRequests, .notifications: ["state"]
    case .unclaimed: ["environment"]
    case .audit: ["customer"]
    case .dead: ["kind", "cause"]
    case .fleet: ["live"]
    case .synchronizations: ["cause"]
    case .endpoints, .imports, .configuration: []
    }
  }

  /// More publishers than these are too many for one page: each costs a look into an index.
  var mostPublishers: Int {
    switch self {
    case .unclaimed: 1
    // They ask no index.
    case .configuration, .dead, .fleet: .max
    default: 200
    }
  }

  /// Whether it has rows of which nobody can say whose they are. They belong to publisher 0, and who may see all
  /// publishers sees them.
  var hasRowsOfNobody: Bool { self == .audit || self == .dead }
}

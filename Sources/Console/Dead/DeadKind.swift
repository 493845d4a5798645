import Messaging

/// What may be given up.
enum DeadKind: String, CaseIterable, Sendable {
  case jobs, deliveries
  /// Those of Apple's that are put aside in the ledger.
  case notifications

  /// The queue of the dead; `nil` for what is in the ledger.
  var queue: DeadMessage.Kind? { DeadMessage.Kind(rawValue: rawValue) }
}

extension DeadCause {
  /// Why something was given up, for people.
  var words: String {
    switch self {
    case .abandoned: "every attempt failed, or the endpoint answered 410"
    case .crashed: "processes died while they had it"
    case .deliveryLimit: "it came back more often than its queue allows"
    case .endpointGone: "the endpoint was deleted"
    case .malformed: "it cannot be read"
    case .publisherUnknown: "no file has the publisher"
    case .superseded: "its synchronization now belongs to another registration"
    case .unknown: "nobody wrote a reason"
    }
  }
}

extension DeadMessage.Obstacle {
  /// Why a message stays, for people.
  var words: String {
    switch self {
    case .finalized: "finalized already"
    case .unreadable: "unreadable"
    case .newerFormat: "of a newer version"
    case .endpointGone: "for an endpoint that was deleted"
    case .endpointDisabled: "for an endpoint that is disabled: enable it first"
    }
  }
}

import Domain
import Ledger

/// What a person does to an endpoint. Its raw value is the last segment of the address.
enum EndpointChange: String, Sendable, CaseIterable {
  case enable
  case disable
  /// Makes a new secret. The old one signs for a while longer.
  case rotate
  /// Sends an event that tells nothing.
  case test

  /// Its name in metrics.
  var label: String {
    switch self {
    case .enable: "enableEndpoint"
    case .disable: "disableEndpoint"
    case .rotate: "rotateSecret"
    case .test: "testEndpoint"
    }
  }

  /// What the button on the endpoint's page says.
  var button: String {
    switch self {
    case .enable: "Enable …"
    case .disable: "Disable …"
    case .rotate: "Rotate the secret …"
    case .test: "Send a test …"
    }
  }

  /// Whether somebody may do it. The answer to a rotation has the secret, so it is for operators.
  func isAllowed(_ role: ConsoleRole) -> Bool { self == .rotate ? role.seesSecrets : role.acts }

  /// Why it cannot be done now; `nil` if it can.
  func refusal(_ endpoint: ConsoleEndpoint, _ state: ConsoleEndpoint.State) -> String? {
    let isOfFile = endpoint.source == "configuration"
    switch self {
    case .disable, .rotate:
      if isOfFile { return "The endpoint is in the publisher's file, and is changed there." }
      return self == .disable && state.health.disabled != nil ? "The endpoint is disabled already." : nil
    case .enable: return state.health.disabled == nil ? "The endpoint is enabled already." : nil
    case .test:
      return state.health.disabled.map { "The endpoint is disabled: \($0.reason.words). Enable it first." }
    }
  }

  /// What a person may do to an endpoint now. A URL that gets Apple's notifications is no endpoint of the API's.
  static func possible(
    _ endpoint: ConsoleEndpoint, _ state: ConsoleEndpoint.State, by role: ConsoleRole
  ) -> [EndpointChange] {
    guard endpoint.isKnown, endpoint.source != "forward" else { return [] }
    return allCases.filter { $0.isAllowed(role) && $0.refusal(endpoint, state) == nil }
  }
}

/// How long an old secret still signs besides the new one.
enum SecretOverlap: Int64, Sendable, CaseIterable {
  case atOnce = 0
  case hour = 3600
  /// The API's own.
  case day = 86_400
  case week = 604_800

  var words: String {
    switch self {
    case .atOnce: "it ends at once, as after a leak"
    case .hour: "for an hour"
    case .day: "for a day"
    case .week: "for a week"
    }
  }
}

extension ConsoleView {
  func link(to change: EndpointChange, _ endpoint: EndpointKey) -> Link { link(endpoint.page + [change.rawValue]) }
}

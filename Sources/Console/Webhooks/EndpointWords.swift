import Domain
import Ledger

extension ConsoleEndpoint {
  var key: EndpointKey { EndpointKey(publisherId: publisherId, id: id) }

  /// What stands for an endpoint of which only the id is known: it is deleted, or no file has it any more.
  static func unknown(_ key: EndpointKey) -> ConsoleEndpoint {
    ConsoleEndpoint(publisherId: key.publisherId, id: key.id, url: "", source: "")
  }

  /// Whether a publisher's file or the API has it.
  var isKnown: Bool { !source.isEmpty }

  /// Its URL. Some receivers have a secret in the path, so only an operator sees more than the server.
  func shownURL(to role: ConsoleRole) -> String { role.seesSecrets ? url : Self.server(of: url) }

  /// The scheme and the server of a URL, without a name and a password.
  static func server(of url: String) -> String {
    guard let scheme = url.firstRange(of: "://") else { return "" }
    let rest = url.suffix(from: scheme.upperBound).prefix { !"/?#\\".contains($0) }
    let server = rest.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return String(url.prefix(upTo: scheme.upperBound) + server)
  }

  /// Where somebody may change it.
  var managed: String {
    switch source {
    case "api": "the API"
    case "subscription": "the API, as a subscription"
    case "configuration": "the publisher's file"
    case "forward": "the publisher's file: it gets Apple's notifications"
    default: source
    }
  }
}

extension ConsoleEndpoint.State {
  /// The success of the newest attempts, such as `98 % of 200`.
  var success: String? {
    guard made > 0 else { return nil }
    // Rounded down, so that only a whole success is one.
    return "\(delivered * 100 / made) % of \(made)"
  }

  /// Whether it gets what is owed to it.
  var isGood: Bool { health.disabled == nil && health.failingSince == nil }

  /// The state as a mark, with its time.
  func mark(_ view: ConsoleView) -> HTML {
    if let disabled = health.disabled {
      return .element(
        .span, [.class("mark bad")], [.text("disabled (\(disabled.reason.rawValue)) "), view.time(disabled.at)])
    }
    if let since = health.failingSince {
      return .element(.span, [.class("mark bad")], [.text("failing since "), view.clock(since)])
    }
    return .span("enabled", class: "mark good")
  }

  /// The state in one word, for JSON.
  var word: String { health.disabled != nil ? "disabled" : health.failingSince != nil ? "failing" : "enabled" }
}

extension DeliveryAttempt.Result {
  var mark: HTML {
    switch self {
    case .delivered: .span(rawValue, class: "mark good")
    case .failed, .abandoned: .span(rawValue, class: "mark bad")
    case .skipped: .span(rawValue, class: "mark")
    }
  }
}

import Formats
public import JSON

/// The environment of the purchases whose events an endpoint gets. The raw value is Apple's word.
public enum WebhookEnvironment: String, Sendable, CaseIterable {
  case production = "Production"
  case sandbox = "Sandbox"

  /// Apple's word for it.
  var name: Environment { Environment(rawValue) }

  /// Reads an environment, in whichever case it is written; `nil` for any other value.
  public init?(named name: JSONValue?) {
    guard case .string(let name)? = name,
      let known = Self.allCases.first(where: { $0.rawValue.lowercased().isExactly(name.lowercased()) })
    else { return nil }
    self = known
  }
}

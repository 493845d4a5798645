public import Formats

/// The customers whose purchases from Apple's sandbox give access.
///
/// Nobody pays in the sandbox. App Review and TestFlight buy there, with the same build that production sells.
public enum SandboxAccess: Sendable, Equatable {
  case nobody
  case everybody
  /// The listed customers, each id as a text.
  case customers(Set<ExactText>)

  /// Lists customers by their ids.
  public static func customers(_ ids: [Int64]) -> SandboxAccess { .customers(Set(ids.map(Self.text))) }

  /// Whether a customer has this access.
  public func allows(_ customer: Int64) -> Bool {
    switch self {
    case .nobody: false
    case .everybody: true
    case .customers(let ids): ids.contains(Self.text(customer))
    }
  }

  private static func text(_ id: Int64) -> ExactText { String(id).exact }
}

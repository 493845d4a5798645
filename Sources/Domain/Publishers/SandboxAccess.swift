/// The customers whose purchases from Apple's sandbox give access.
///
/// Nobody pays in the sandbox. App Review and TestFlight buy there, with the same build that production sells.
public enum SandboxAccess: Sendable, Equatable {
  case nobody
  case everybody
  /// The listed customers, by their ids.
  case customers(Set<CustomerId>)

  /// Lists customers by their ids.
  public static func customers(_ ids: [CustomerId]) -> SandboxAccess { .customers(Set(ids)) }

  /// Whether a customer has this access.
  public func allows(_ customer: CustomerId) -> Bool {
    switch self {
    case .nobody: false
    case .everybody: true
    case .customers(let ids): ids.contains(customer)
    }
  }
}

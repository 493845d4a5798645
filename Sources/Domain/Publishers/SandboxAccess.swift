/// The customers whose purchases from Apple's sandbox give access.
///
/// Nobody pays in the sandbox. App Review and TestFlight buy there, with the same build that production sells.
public enum SandboxAccess: Sendable, Equatable {
  case nobody
  case everybody
  /// The listed customers, each id as its bytes.
  case customers(Set<[UInt8]>)

  /// Lists customers by their ids.
  public static func customers(_ ids: [Int64]) -> SandboxAccess { .customers(Set(ids.map(Self.bytes))) }

  /// Whether a customer has this access.
  public func allows(_ customer: Int64) -> Bool {
    switch self {
    case .nobody: false
    case .everybody: true
    case .customers(let ids): ids.contains(Self.bytes(customer))
    }
  }

  private static func bytes(_ id: Int64) -> [UInt8] { Array(String(id).utf8) }
}

public import Formats

/// Where a purchase was made; an open set, unknown names are kept.
public struct AppStoreEnvironment: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The App Store.
  public static let production = AppStoreEnvironment(rawValue: "Production")
  /// Sandbox accounts, TestFlight and App Review.
  public static let sandbox = AppStoreEnvironment(rawValue: "Sandbox")
  /// StoreKit testing in Xcode; signed by nobody in particular.
  public static let xcode = AppStoreEnvironment(rawValue: "Xcode")
  /// A stand-in environment of Apple's libraries; signed by nobody in particular.
  public static let localTesting = AppStoreEnvironment(rawValue: "LocalTesting")

  /// Whether Apple signs what comes from here; the others prove nothing and are for a developer's own machine.
  public var isSignedByApple: Bool { self != .xcode && self != .localTesting }
}

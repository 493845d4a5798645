public import Formats

/// The environment of a purchase. An open set: unknown names are kept.
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
  /// StoreKit testing in Xcode. Anybody can sign its data.
  public static let xcode = AppStoreEnvironment(rawValue: "Xcode")
  /// A stand-in environment of Apple's libraries. Anybody can sign its data.
  public static let localTesting = AppStoreEnvironment(rawValue: "LocalTesting")

  /// Whether Apple signs the data of this environment.
  ///
  /// Data of the other environments proves nothing. They are for a developer's own machine.
  public var isSignedByApple: Bool { self != .xcode && self != .localTesting }
}

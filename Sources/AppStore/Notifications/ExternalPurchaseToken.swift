public import Domain
public import Formats

/// A token for purchases outside the App Store.
public struct ExternalPurchaseToken: Hashable, Sendable, Codable {
  /// What the token is for; unknown types are kept.
  public struct TokenType: ExactRawValue, Sendable, Codable {
    public let rawValue: String

    /// Creates a value, known or not.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// For a customer who came from the App Store.
    public static let acquisition = TokenType(rawValue: "ACQUISITION")
    /// For the services of the App Store.
    public static let services = TokenType(rawValue: "SERVICES")
  }

  /// The token's id; in the sandbox it begins with `SANDBOX`.
  public var externalPurchaseId: String?
  /// What it is for.
  public var tokenType: TokenType?
  /// When it was made, in milliseconds since 1970.
  public var tokenCreationDate: Int64?
  /// When it ends, in milliseconds since 1970.
  public var tokenExpirationDate: Int64?
  /// Apple's id of the app.
  public var appAppleId: Int64?
  /// The app.
  public var bundleId: BundleId?

  /// Creates an empty value, for tests and fakes.
  public init() {}

  /// Only the token's id tells its environment.
  var environment: Environment { externalPurchaseId?.hasPrefix("SANDBOX") == true ? .sandbox : .production }
}

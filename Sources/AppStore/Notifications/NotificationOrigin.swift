public import Domain
import Formats

/// The app and the environment that a verified notification is from.
public struct NotificationOrigin: Hashable, Sendable {
  /// The app.
  public let bundleId: String
  /// Apple's id of the app; often missing in the sandbox, or 0, which is none.
  public let appAppleId: AppAppleId?
  /// The environment.
  public let environment: Environment

  /// Creates an origin.
  public init(bundleId: String, appAppleId: Int64?, environment: Environment) {
    self.bundleId = bundleId
    self.appAppleId = AppAppleId(appAppleId)
    self.environment = environment
  }

  public static func == (one: NotificationOrigin, other: NotificationOrigin) -> Bool {
    one.bundleId.exact == other.bundleId.exact && one.appAppleId == other.appAppleId
      && one.environment == other.environment
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(bundleId.exact)
    hasher.combine(appAppleId)
    hasher.combine(environment)
  }

  var payloadOrigin: PayloadOrigin {
    PayloadOrigin(bundleId: bundleId, appAppleId: appAppleId, environment: environment, carriesAppAppleId: true)
  }
}

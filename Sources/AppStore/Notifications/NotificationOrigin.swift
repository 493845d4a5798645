public import Domain

/// The app and the environment that a verified notification is from.
public struct NotificationOrigin: Hashable, Sendable {
  /// The app.
  public let bundleId: BundleId
  /// Apple's id of the app; often missing in the sandbox, or 0, which is none.
  public let appAppleId: AppAppleId?
  /// The environment.
  public let environment: Environment

  /// Creates an origin.
  public init(bundleId: BundleId, appAppleId: Int64?, environment: Environment) {
    self.bundleId = bundleId
    self.appAppleId = AppAppleId(appAppleId)
    self.environment = environment
  }

  var payloadOrigin: PayloadOrigin {
    PayloadOrigin(bundleId: bundleId, appAppleId: appAppleId, environment: environment, carriesAppAppleId: true)
  }
}

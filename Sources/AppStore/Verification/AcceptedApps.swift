import Formats

/// The apps, and the environments of each, whose signed data is accepted.
public struct AcceptedApps: Hashable, Sendable {
  /// One app.
  public struct App: Hashable, Sendable {
    /// The app's bundle id.
    public var bundleId: String
    /// Apple's id of the app. Without it, the verifier refuses notifications and app transactions of production.
    public var appAppleId: Int64?
    /// The environments whose data of this app is accepted.
    public var environments: Set<AppStoreEnvironment>

    /// Creates an app. By default it is accepted in production and sandbox.
    public init(
      bundleId: String, appAppleId: Int64? = nil,
      environments: Set<AppStoreEnvironment> = [.production, .sandbox]
    ) {
      self.bundleId = bundleId
      self.appAppleId = appAppleId
      self.environments = environments
    }
  }

  private let apps: [ExactText: App]
  /// The environments for apps that are not listed; `nil` accepts none of them.
  private let anyAppEnvironments: Set<AppStoreEnvironment>?
  private let anyAppAppleId: Int64?

  /// Accepts the listed apps and no other app. If an app is listed twice, the environments of both entries are
  /// accepted.
  public init(_ apps: [App]) {
    self.apps = Dictionary(apps.map { ($0.bundleId.exact, $0) }) { one, other in
      App(
        bundleId: one.bundleId, appAppleId: other.appAppleId ?? one.appAppleId,
        environments: one.environments.union(other.environments))
    }
    anyAppEnvironments = nil
    anyAppAppleId = nil
  }

  private init(anyAppIn environments: Set<AppStoreEnvironment>, appAppleId: Int64?) {
    apps = [:]
    anyAppEnvironments = environments
    anyAppAppleId = appAppleId
  }

  /// Accepts every app. Use it to look at data by hand, never to grant access.
  public static func anyApp(in environments: Set<AppStoreEnvironment>, appAppleId: Int64? = nil) -> AcceptedApps {
    AcceptedApps(anyAppIn: environments, appAppleId: appAppleId)
  }

  /// Whether the list accepts an environment that Apple does not sign for.
  var includesUnsignedEnvironments: Bool {
    apps.values.contains { $0.environments.contains { !$0.isSignedByApple } }
      || (anyAppEnvironments ?? []).contains { !$0.isSignedByApple }
  }

  /// Checks the origin that a payload names, the app before the environment, as Apple's libraries do.
  func check(_ origin: PayloadOrigin) throws(Rejection) {
    guard let bundleId = origin.bundleId else {
      return try checkWithoutBundleId(origin)
    }
    if let app = apps[bundleId.exact] {
      try check(origin, appAppleId: app.appAppleId, isAppleIdRequired: true, environments: app.environments)
    } else if let environments = anyAppEnvironments {
      try check(origin, appAppleId: anyAppAppleId, isAppleIdRequired: anyAppAppleId != nil, environments: environments)
    } else {
      throw Rejection(.bundleIdMismatch, "the bundle id \(bundleId.debugDescription) is not accepted")
    }
  }

  private func checkWithoutBundleId(_ origin: PayloadOrigin) throws(Rejection) {
    guard origin.namesNoApp else { throw Rejection(.bundleIdMismatch, "there is no bundle id") }
    let accepted = anyAppEnvironments ?? apps.values.reduce(into: []) { $0.formUnion($1.environments) }
    try Self.check(origin.environment, in: accepted)
  }

  private func check(
    _ origin: PayloadOrigin, appAppleId: Int64?, isAppleIdRequired: Bool, environments: Set<AppStoreEnvironment>
  ) throws(Rejection) {
    // Sandbox data often lacks Apple's id, so the id counts in production only. If an app is accepted in production
    // only, its data must always show the id. So the verifier rejects data of another app for that reason.
    let isProduction = origin.environment == .production || environments == [.production]
    if origin.carriesAppAppleId, isAppleIdRequired, isProduction {
      guard let appAppleId else {
        throw Rejection(.appAppleIdMismatch, "the app's Apple id is not configured")
      }
      guard origin.appAppleId == appAppleId else {
        let found = origin.appAppleId.map { "is \($0)" } ?? "is missing"
        throw Rejection(.appAppleIdMismatch, "the app's Apple id \(found), not \(appAppleId)")
      }
    }
    if origin.environment == nil, origin.mayLackEnvironment {
      // The data may be from either environment, so the app must be accepted in both.
      for environment in [AppStoreEnvironment.production, .sandbox] { try Self.check(environment, in: environments) }
    } else {
      try Self.check(origin.environment, in: environments)
    }
  }

  private static func check(
    _ environment: AppStoreEnvironment?, in accepted: Set<AppStoreEnvironment>
  ) throws(Rejection) {
    guard let environment else { throw Rejection(.environmentMismatch, "there is no environment") }
    guard accepted.contains(environment) else {
      throw Rejection(.environmentMismatch, "the environment \(environment.rawValue.debugDescription) is not accepted")
    }
  }
}

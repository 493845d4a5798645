import Formats

/// The apps, and the environments of each, whose signed data is accepted.
public struct AcceptedApps: Hashable, Sendable {
  /// One app.
  public struct App: Hashable, Sendable {
    /// The app's bundle id.
    public var bundleId: String
    /// Apple's id of the app; without it, production notifications and app transactions are refused.
    public var appAppleId: Int64?
    /// Where the app may be used from.
    public var environments: Set<AppStoreEnvironment>

    /// Creates an app that is accepted in production and sandbox unless told otherwise.
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

  /// Accepts the listed apps and no other; an app that is listed twice is accepted in the environments of both.
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

  /// Accepts every app: for looking at data by hand, never for granting access.
  public static func anyApp(in environments: Set<AppStoreEnvironment>, appAppleId: Int64? = nil) -> AcceptedApps {
    AcceptedApps(anyAppIn: environments, appAppleId: appAppleId)
  }

  /// Whether any environment is accepted that Apple does not sign for.
  var includesUnsignedEnvironments: Bool {
    apps.values.contains { $0.environments.contains { !$0.isSignedByApple } }
      || (anyAppEnvironments ?? []).contains { !$0.isSignedByApple }
  }

  /// Checks what a payload says about its origin; the app is checked before the environment, as Apple's libraries do.
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
    // Sandbox data often lacks Apple's id, so it counts in production only; an app that is accepted nowhere else
    // always has to show it, so that data of another app is told as such.
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
      // It may be from either, so both must be accepted.
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

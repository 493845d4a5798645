public import Domain

/// The apps, and the environments of each, whose signed data is accepted.
public struct AcceptedApps: Hashable, Sendable {
  /// One app.
  public struct App: Hashable, Sendable {
    /// The app's bundle id.
    public var bundleId: BundleId
    /// Apple's id of the app. Without it, the verifier refuses notifications and app transactions of production.
    public var appAppleId: Int64?
    /// The environments whose data of this app is accepted.
    public var environments: Set<Environment>

    /// Creates an app. By default it is accepted in production and sandbox.
    public init(
      bundleId: BundleId, appAppleId: Int64? = nil,
      environments: Set<Environment> = [.production, .sandbox]
    ) {
      self.bundleId = bundleId
      self.appAppleId = appAppleId
      self.environments = environments
    }
  }

  /// The entries of each bundle id. Publishers with an app in common, or with a key per environment, make several.
  private let apps: [BundleId: [App]]
  /// The environments of all entries together.
  private let listedEnvironments: Set<Environment>
  /// The environments for apps that are not listed; `nil` accepts none of them.
  private let anyAppEnvironments: Set<Environment>?
  private let anyAppAppleId: AppAppleId?
  /// Whether the list accepts an environment that Apple does not sign for.
  let includesUnsignedEnvironments: Bool

  /// Accepts the listed apps and no other app. If an app is listed several times, one entry that accepts is enough.
  public init(_ apps: [App]) {
    self.apps = Dictionary(grouping: apps, by: \.bundleId)
    listedEnvironments = apps.reduce(into: []) { $0.formUnion($1.environments) }
    anyAppEnvironments = nil
    anyAppAppleId = nil
    includesUnsignedEnvironments = listedEnvironments.contains { !$0.isSignedByApple }
  }

  private init(anyAppIn environments: Set<Environment>, appAppleId: Int64?) {
    apps = [:]
    listedEnvironments = []
    anyAppEnvironments = environments
    anyAppAppleId = AppAppleId(appAppleId)
    includesUnsignedEnvironments = environments.contains { !$0.isSignedByApple }
  }

  /// Accepts every app. Use it to look at data by hand, never to grant access.
  public static func anyApp(in environments: Set<Environment>, appAppleId: Int64? = nil) -> AcceptedApps {
    AcceptedApps(anyAppIn: environments, appAppleId: appAppleId)
  }

  /// Returns whether data of this origin is accepted.
  public func accepts(_ origin: NotificationOrigin) -> Bool { (try? check(origin.payloadOrigin)) != nil }

  /// Checks the origin that a payload names, the app before the environment, as Apple's libraries do.
  func check(_ origin: PayloadOrigin) throws(Rejection) {
    guard let bundleId = origin.bundleId else {
      return try checkWithoutBundleId(origin)
    }
    if let entries = apps[bundleId] {
      try check(origin, against: entries)
    } else if let environments = anyAppEnvironments {
      try check(origin, appAppleId: anyAppAppleId, isAppleIdRequired: anyAppAppleId != nil, environments: environments)
    } else {
      throw Rejection(.bundleIdMismatch, "the bundle id \(bundleId.text.debugDescription) is not accepted")
    }
  }

  private func check(_ origin: PayloadOrigin, against entries: [App]) throws(Rejection) {
    if origin.environment == nil, origin.mayLackEnvironment {
      // The data may be from either environment, so the app must be accepted in both, by whichever entries.
      let environments = entries.reduce(into: Set<Environment>()) { $0.formUnion($1.environments) }
      return try Self.checkBothEnvironments(in: environments)
    }
    var first: Rejection?
    for app in entries {
      do throws(Rejection) {
        return try check(
          origin, appAppleId: AppAppleId(app.appAppleId), isAppleIdRequired: true, environments: app.environments)
      } catch {
        first = first ?? error
      }
    }
    if let first { throw first }
  }

  private func checkWithoutBundleId(_ origin: PayloadOrigin) throws(Rejection) {
    guard origin.namesNoApp else { throw Rejection(.bundleIdMismatch, "there is no bundle id") }
    try Self.check(origin.environment, in: anyAppEnvironments ?? listedEnvironments)
  }

  private func check(
    _ origin: PayloadOrigin, appAppleId: AppAppleId?, isAppleIdRequired: Bool, environments: Set<Environment>
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
      try Self.checkBothEnvironments(in: environments)
    } else {
      try Self.check(origin.environment, in: environments)
    }
  }

  private static func checkBothEnvironments(in accepted: Set<Environment>) throws(Rejection) {
    for environment in [Environment.production, .sandbox] { try check(environment, in: accepted) }
  }

  private static func check(
    _ environment: Environment?, in accepted: Set<Environment>
  ) throws(Rejection) {
    guard let environment else { throw Rejection(.environmentMismatch, "there is no environment") }
    guard accepted.contains(environment) else {
      throw Rejection(.environmentMismatch, "the environment \(environment.text.debugDescription) is not accepted")
    }
  }
}

public import AppStore
public import Coordination
public import Domain

extension CallPlace {
  /// Names an app in an environment, with the fleet's budgets of some endpoints there, the preferred one first. Every
  /// role that asks Apple makes its places here, so each budget is one.
  ///
  /// - Parameter budgetScale: the fleet's budget for each endpoint, as a factor of Apple's limit.
  public init(_ app: BundleId, in environment: Environment, _ endpoints: [AppStoreEndpoint], budgetScale: Double) {
    self.init(
      bundleId: app, environment: environment,
      budgets: endpoints.map {
        CallBudget(endpoint: $0.rawValue, perSecond: $0.callsPerSecond(in: environment) * budgetScale)
      })
  }
}

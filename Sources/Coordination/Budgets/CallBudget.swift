public import Domain

/// A place to ask Apple: one app in one environment, with the budget of each endpoint there.
public struct CallPlace: Sendable, Hashable {
  /// `bundleId|environment`.
  public let name: PlaceName
  public let bundleId: BundleId
  public let environment: Environment
  /// The endpoints that can answer, the preferred one first.
  public let budgets: [CallBudget]

  /// Names a place.
  public init(bundleId: BundleId, environment: Environment, budgets: [CallBudget]) {
    name = "\(bundleId)|\(environment)"
    (self.bundleId, self.environment, self.budgets) = (bundleId, environment, budgets)
  }
}

/// The calls that the whole fleet may make to one endpoint.
public struct CallBudget: Sendable, Hashable {
  /// The endpoint's name.
  public let endpoint: String
  /// Calls per second.
  public let perSecond: Double
  /// The same in the form for a script.
  let rate: String

  /// Creates a budget. The rate may be less than one call per second, but not zero.
  public init(endpoint: String, perSecond: Double) {
    precondition(perSecond > 0)
    (self.endpoint, self.perSecond) = (endpoint, perSecond)
    rate = String(perSecond)
  }
}

/// A call that a script took out of its budget. The worker may make it at once.
public struct CallPermit: Sendable, Hashable {
  /// The name of the place.
  public let place: PlaceName
  public let endpoint: String

  /// Creates a permit.
  public init(place: PlaceName, endpoint: String) {
    self.place = place
    self.endpoint = endpoint
  }
}

/// The answer to a request for a call to Apple.
public enum CallAnswer: Sendable, Equatable {
  case granted(CallPermit)
  /// The worker may call no endpoint now. It may call one after this long.
  case wait(Duration)
}

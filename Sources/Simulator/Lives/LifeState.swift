/// Where a life is. A one-time purchase is active until it is revoked.
enum LifeState: String, Sendable {
  /// The period that was paid runs.
  case active
  /// The period is over, Apple tries to charge, and access goes on.
  case grace
  /// The period is over, and Apple tries to charge.
  case billingRetry
  /// It is over.
  case expired
  /// Apple has taken the latest transaction back.
  case revoked
  /// Another life, with another original transaction id, has taken its place.
  case upgraded

  /// Apple's number.
  var status: StorePurchase.SubscriptionStatus {
    switch self {
    case .active: .active
    case .grace: .gracePeriod
    case .billingRetry: .billingRetry
    case .expired, .upgraded: .expired
    case .revoked: .revoked
    }
  }
}

extension Simulator {
  /// A fault of every call, for any transaction: for tests of outages.
  public enum Weather: Hashable, Sendable {
    /// No fault.
    case fair
    /// 429 with a `Retry-After` so many milliseconds ahead, in Apple's form.
    case rateLimited(milliseconds: Int64)
    /// 500 (5000000).
    case failing
    /// 401: Apple refuses the key.
    case unauthorized
    /// 400 with this code, such as 4000002: the app, or its bundle, is not the key's.
    case refusing(code: Int)
    /// Every answer comes so much later.
    case slow(Duration)
    /// The simulator resets the connection after half the body.
    case interrupted
    /// The simulator signs payloads under another root with the same names.
    case forged
    /// Apple has refunded the subscription.
    case refunded
    /// The subscription has been renewed: its present period ends so many days later.
    case renewed(days: Int64)
    /// The index of subscriptions is behind: Get All Subscription Statuses does not know the transaction (4040010).
    case behind
    /// Get All Subscription Statuses knows the customer, but names no subscription.
    case unnamed
  }

  /// One call, as the simulator decided it.
  public struct Call: Hashable, Sendable {
    /// UNIX milliseconds.
    public let time: Int64
    /// `production` or `sandbox`, as in the path.
    public let environment: String
    /// The endpoint's name in the log.
    public let endpoint: String
    /// The transaction that the client asked for.
    public let transactionId: String
    /// The number of the connection that brought it, from 1. A reset of it takes answers away that were on their way.
    public let connection: Int
    /// The status code; 0 when the connection was reset instead.
    public let status: Int
    /// No further call is allowed before this time, in UNIX milliseconds; only with 429.
    public let retryAt: Int64?
  }
}

extension StoreDecision {
  /// Changes the decision as the weather demands.
  mutating func suffer(_ weather: Simulator.Weather, _ endpoint: StoreEndpoint, now: Int64) {
    switch weather {
    case .fair: break
    case .rateLimited(let milliseconds): answer = .failure(.rateLimited(until: now + milliseconds))
    case .failing: answer = .failure(.general)
    case .unauthorized: answer = .unauthorized
    case .refusing(let code): answer = .failure(StoreFailure(code: code, message: "Invalid request app identifier."))
    case .slow(let more): delay += more
    case .interrupted: isCutOff = true
    case .behind: if endpoint == .subscriptions { answer = .failure(.transactionIdNotFound) }
    case .unnamed:
      if endpoint == .subscriptions { change { ($0.subscription, $0.related) = (nil, []) } }
    case .refunded: change { $0.refund(now: now) }
    case .renewed(let days): change { $0.renew(days: days) }
    case .forged: if case .purchase(let purchase, _) = answer { answer = .purchase(purchase, .foreignRoot) }
    }
  }

  private mutating func change(_ change: (inout StorePurchase) -> Void) {
    guard case .purchase(var purchase, let seal) = answer else { return }
    change(&purchase)
    answer = .purchase(purchase, seal)
    isUsual = false
  }
}

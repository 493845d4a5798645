/// Which of Apple's two servers to ask: production first, then the sandbox when production does not know.
///
/// Apple asks for this order. Production also answers 401 to an app that was never released, so that this is no reason
/// to give up either; only a 401 of the server that is asked last means wrong credentials.
public struct EnvironmentRoute: Hashable, Sendable {
  /// The server to ask now.
  public private(set) var environment: AppStoreEnvironment
  /// Whether the sandbox may be asked next.
  private var mayFallBack: Bool

  /// Starts in production, or goes nowhere but to the environment that verified data or an earlier answer named.
  public init(known environment: AppStoreEnvironment? = nil) {
    self.environment = environment ?? .production
    mayFallBack = environment == nil
  }

  /// Moves on after an error; returns false when there is nothing left to ask and the error is the answer.
  public mutating func moves(after error: AppStoreAPIError) -> Bool {
    guard mayFallBack, Self.isUnknownInProduction(error) else { return false }
    environment = .sandbox
    mayFallBack = false
    return true
  }

  private static func isUnknownInProduction(_ error: AppStoreAPIError) -> Bool {
    switch error.kind {
    case .unauthorized: true
    case .api(let code): code == .transactionIdNotFound || code == .originalTransactionIdNotFound
    default: false
    }
  }
}

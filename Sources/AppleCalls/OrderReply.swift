import AppStore
public import Domain

/// What Apple says about an order id.
public enum OrderReply: Sendable, Equatable {
  /// The transactions of the order in an app, each verified.
  case found(BundleId, [TransactionFacts])
  /// Apple knows no such order in any app that was asked.
  case unknown
  /// Nobody knows yet whether there is such an order.
  case failed(AppleObstacle)

  /// The transactions of the order; none without an order.
  public var transactions: [TransactionFacts] {
    if case .found(_, let transactions) = self { transactions } else { [] }
  }

  /// Decides what a call without an answer means; `nil` if there is no such order.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func obstacle(_ kind: AppStoreAPIError.Kind, for app: Publisher.App, now: Int64) -> AppleObstacle? {
    switch kind {
    // Production answers 401 about an app that was never released. Nobody can have bought in it.
    case .unauthorized where !app.isReleased: nil
    // The documented answer to an id that Apple cannot have given. Nothing else of the call comes from outside.
    case .api(.generalBadRequest): nil
    default: .of(kind, for: app.bundleId, now: now)
    }
  }

  /// Joins what several apps have: the first that has the order counts. If there is none, an app that could not be
  /// asked may still have it, so nobody says that there is no such order.
  static func joined(_ replies: [OrderReply]) -> OrderReply {
    let found = replies.first { if case .found = $0 { true } else { false } }
    return found ?? replies.first { $0 != .unknown } ?? .unknown
  }
}

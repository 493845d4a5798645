import AppStore
public import Domain
import Formats

/// What Apple says about an order id.
public enum OrderReply: Sendable, Equatable {
  /// The transactions of the order in an app, each verified.
  case found(BundleId, [TransactionFacts])
  /// Apple knows no such order in any app that was asked.
  case unknown
  /// Nobody knows yet whether there is such an order.
  case failed(OrderObstacle)

  /// The transactions of the order; none without an order.
  public var transactions: [TransactionFacts] {
    if case .found(_, let transactions) = self { transactions } else { [] }
  }

  /// Decides what a call without an answer means.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func of(_ error: AppStoreAPIError, for app: Publisher.App, now: Int64) -> OrderReply {
    switch error.kind {
    // Production answers 401 about an app that was never released. Nobody can have bought in it.
    case .unauthorized: app.isReleased ? .failed(.keyRefused(app.bundleId)) : .unknown
    case .api(.invalidAppIdentifier), .api(.appNotFound): .failed(.keyRefused(app.bundleId))
    // The documented answer to an id that Apple cannot have given. Nothing else of the call comes from outside.
    case .api(.generalBadRequest): .unknown
    case .rateLimited(let time): .failed(.busy(.milliseconds(max(1, (time ?? now.adding(1000)).subtracting(now)))))
    case .malformedAnswer: .failed(.unverified(app.bundleId))
    case .api, .http, .transport, .invalidRequest: .failed(.away(app.bundleId))
    }
  }

  /// Joins what several apps have: the first that has the order counts. If there is none, an app that could not be
  /// asked may still have it, so nobody says that there is no such order.
  static func joined(_ replies: [OrderReply]) -> OrderReply {
    let found = replies.first { if case .found = $0 { true } else { false } }
    return found ?? replies.first { $0 != .unknown } ?? .unknown
  }
}

/// Why Apple cannot tell about an order now.
public enum OrderObstacle: Sendable, Equatable {
  /// The budget has no call left, or Apple wants no call. The next one may come after this long.
  case busy(Duration)
  /// Apple did not answer, or not with what it knows.
  case away(BundleId)
  /// Apple refuses the key of the app. A person must mend it.
  case keyRefused(BundleId)
  /// Apple's answer cannot be verified, or does not have the form that Apple documents.
  case unverified(BundleId)
}

import AppStore
public import Domain

/// What Apple says about a purchase that the ledger has.
public enum PurchaseReply: Sendable, Equatable {
  /// What Apple has signed about it, each piece verified. There is at least a transaction.
  case told([Evidence])
  /// Apple does not know the purchase. One of its servers may lag.
  case unknown
  /// Nobody knows now what Apple says.
  case failed(AppleObstacle)

  /// Decides what a call without an answer means; `nil` if Apple does not know the purchase.
  ///
  /// Apple has signed the purchase with this id. So an id that it calls invalid is one of another app: it says so, too,
  /// if the bundle is not the key's. And an app that has a purchase was released: a 401 is about the key.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func obstacle(_ kind: AppStoreAPIError.Kind, for app: BundleId, now: Int64) -> AppleObstacle? {
    switch kind {
    case .api(.transactionIdNotFound), .api(.originalTransactionIdNotFound), .api(.invalidOriginalTransactionId): nil
    case .api(.invalidTransactionId): .keyRefused(app)
    default: .of(kind, for: app, now: now)
    }
  }
}

import AppStore
import Foundation
import JSON

/// What Apple has answered about a transaction in one place, and where it knew nothing; kept while the job waits for its next call, so that no run asks
/// what an earlier one was told (decision 0017).
///
/// Signed as Apple sent it, and verified whenever it is used: what lies in Redis is not believed.
struct KeptAnswers: Equatable, Codable {
  /// Get Transaction Info's.
  var transaction: String?
  /// Get All Subscription Statuses'.
  var statuses: Statuses?
  /// The places that do not know the transaction.
  var unknownAt: [String] = []
  /// When a run kept them, in milliseconds since 1970.
  private var keptAt: Int64?

  /// The customer's subscriptions.
  struct Statuses: Equatable, Codable {
    /// Whether Apple knew of any; that it does not proves nothing.
    var areKnown = false
    var entries: [SubscriptionStatusesResponse.LastTransaction] = []
  }

  /// For how long another run may go by them, in milliseconds.
  static let lifetime: Int64 = 600_000
  /// More bytes than these are asked for again; a subscription takes about 8,000.
  static let greatestSize = 65_536

  init() {}

  /// The only endpoint that has not been asked; `nil` when none or both have.
  var missing: AppStoreEndpoint? {
    switch (transaction, statuses) {
    case (.some, nil): .subscriptionStatuses
    case (nil, .some): .transactionInfo
    default: nil
    }
  }

  /// Reads what an earlier run has kept; `nil` when it is nothing of use, or too old.
  ///
  /// - Parameter now: milliseconds since 1970.
  init?(_ text: String, now: Int64) {
    guard let kept = try? JSONText(Array(text.utf8)).decoded(as: KeptAnswers.self), let at = kept.keptAt,
      (now - Self.lifetime...now + Self.lifetime).contains(at)
    else { return nil }
    self = kept
  }

  /// What the next run is to know; `nil` when there is nothing, or too much.
  func text(now: Int64) -> String? {
    guard missing != nil || !unknownAt.isEmpty else { return nil }
    var kept = self
    kept.keptAt = kept.keptAt ?? now
    guard let data = try? JSONEncoder().encode(kept), data.count <= Self.greatestSize else { return nil }
    return String(decoding: data, as: UTF8.self)
  }
}

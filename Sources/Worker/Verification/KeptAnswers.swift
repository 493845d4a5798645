import AppStore
import Formats
import FoundationEssentials
import JSON

/// What Apple has answered about a synchronization's transaction; kept while the job waits for its next call, so that no run
/// asks what an earlier one was told (decision 0017).
///
/// Answers are kept signed, as Apple sent them, and verified whenever they are used.
struct KeptAnswers: Codable {
  typealias Statuses = [SubscriptionStatusesResponse.LastTransaction]

  /// Get Transaction Info's, in the present place.
  private(set) var transaction: String?
  /// Get All Subscription Statuses', in the present place, if Apple knew of any.
  private(set) var statuses: Statuses?
  /// The places that this attempt is done with.
  private(set) var passed: [String] = []
  /// Whether an app's key was refused everywhere.
  var isUnauthorized = false
  /// The last time at which Apple told something, in milliseconds since 1970.
  private(set) var toldAt: Int64 = 0
  /// Whose answers these are.
  private let synchronizationId: String
  private let attempt: Int
  /// Whether an earlier run was told something of the present place.
  private(set) var areEarlier = false
  /// When an earlier run was told the statuses, if that is where they come from.
  private(set) var earlierStatusesAt: Int64?
  /// Whether this run was told that Apple knows of no subscription of the customer's, which proves nothing.
  private(set) var areStatusesUnknown = false

  private enum CodingKeys: CodingKey {
    case transaction, statuses, passed, isUnauthorized, toldAt, synchronizationId, attempt
  }

  /// For how long another run may go by an answer, in milliseconds.
  static let lifetime: Int64 = 600_000
  /// More bytes than these are asked for again; a subscription takes about 8,000.
  static let greatestSize = 65_536

  /// Begins an attempt.
  init(of synchronizationId: String, attempt: Int) {
    (self.synchronizationId, self.attempt) = (synchronizationId, attempt)
  }

  /// The only endpoint that has not told anything yet; `nil` when none or both have.
  var missing: AppStoreEndpoint? {
    switch (transaction, statuses) {
    case (.some, nil): .subscriptionStatuses
    case (nil, .some): .transactionInfo
    default: nil
    }
  }

  mutating func told(transaction: String, at now: Int64) { (self.transaction, toldAt) = (transaction, now) }

  mutating func told(statuses: Statuses?, at now: Int64) {
    (self.statuses, toldAt, earlierStatusesAt) = (statuses, now, nil)
    areStatusesUnknown = statuses == nil
  }

  /// Drops statuses that are too old to tell.
  mutating func forgetStatuses() { (statuses, earlierStatusesAt) = (nil, nil) }

  /// Goes on to the next place.
  mutating func pass(_ place: String, at now: Int64) {
    (transaction, statuses, toldAt) = (nil, nil, now)
    (areEarlier, earlierStatusesAt, areStatusesUnknown) = (false, nil, false)
    passed.append(place)
  }

  /// Whether this attempt is done with a place.
  func hasPassed(_ place: String) -> Bool { passed.contains { $0.exact == place.exact } }

  /// Leaves out a place that this attempt must not ask.
  mutating func skip(_ place: String) { passed.append(place) }

  // MARK: In a route

  /// Reads what an earlier run has kept; `nil` when it is of another synchronization, or too old.
  ///
  /// What places know changes from attempt to attempt, so a new one asks all of them.
  init?(_ text: String, of synchronizationId: String, attempt: Int, now: Int64) {
    // Either way: the clocks of two workers may differ.
    guard let kept = try? JSONText(Array(text.utf8)).decoded(as: KeptAnswers.self),
      kept.synchronizationId.exact == synchronizationId.exact,
      (now - Self.lifetime...now + Self.lifetime).contains(kept.toldAt)
    else { return nil }
    self.init(of: synchronizationId, attempt: attempt)
    (transaction, statuses, toldAt) = (kept.transaction, kept.statuses, kept.toldAt)
    (areEarlier, earlierStatusesAt) = (missing != nil, statuses == nil ? nil : toldAt)
    if kept.attempt == attempt { (passed, isUnauthorized) = (kept.passed, kept.isUnauthorized) }
  }

  /// What the next run is to know; `nil` when there is nothing, or too much.
  var text: String? {
    guard missing != nil || !passed.isEmpty else { return nil }
    guard let data = try? JSONEncoder().encode(self), data.count <= Self.greatestSize else { return nil }
    return String(decoding: data, as: UTF8.self)
  }
}

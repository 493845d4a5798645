import AppStore
import Domain
import FoundationEssentials
import JSON

/// Apple's answers about a synchronization's transaction, kept while the job waits for its next call. So no run asks
/// again for an answer that an earlier run has got (decision 0017).
///
/// The route holds the answers signed, as Apple sent them. Every run that uses them verifies them.
struct KeptAnswers: Codable {
  typealias Statuses = [SubscriptionStatusesResponse.LastTransaction]

  /// Get Transaction Info's answer, in the present place.
  private(set) var transaction: String?
  /// Get All Subscription Statuses' answer, in the present place, if Apple knew of any.
  private(set) var statuses: Statuses?
  /// The places that this attempt is done with.
  private(set) var passed: [PlaceName] = []
  /// Whether Apple refused an app's key everywhere.
  var isUnauthorized = false
  /// The time of Apple's last answer, in milliseconds since 1970.
  private(set) var toldAt: Int64 = 0
  /// The synchronization that the answers belong to.
  private let synchronizationId: SynchronizationId
  private let attempt: Int
  /// Whether an earlier run got an answer in the present place.
  private(set) var areEarlier = false
  /// When an earlier run got the statuses; `nil` when this run did, or when there are none.
  private(set) var earlierStatusesAt: Int64?
  /// Whether this run learned that Apple knows of no subscription of the customer's. That proves nothing.
  private(set) var areStatusesUnknown = false

  private enum CodingKeys: CodingKey {
    case transaction, statuses, passed, isUnauthorized, toldAt, synchronizationId, attempt
  }

  /// How long other runs may use an answer, in milliseconds.
  static let lifetime: Int64 = 600_000
  /// The next run asks again for more bytes than these. A subscription takes about 8,000.
  static let greatestSize = 65_536

  /// Begins an attempt.
  init(of synchronizationId: SynchronizationId, attempt: Int) {
    (self.synchronizationId, self.attempt) = (synchronizationId, attempt)
  }

  /// The only endpoint whose answer is missing; `nil` when both or no answers are here.
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

  /// Drops statuses that are too old to prove anything.
  mutating func forgetStatuses() { (statuses, earlierStatusesAt) = (nil, nil) }

  /// Goes on to the next place.
  mutating func pass(_ place: PlaceName, at now: Int64) {
    (transaction, statuses, toldAt) = (nil, nil, now)
    (areEarlier, earlierStatusesAt, areStatusesUnknown) = (false, nil, false)
    passed.append(place)
  }

  /// Whether this attempt is done with a place.
  func hasPassed(_ place: PlaceName) -> Bool { passed.contains(place) }

  /// Leaves out a place that this attempt must not ask.
  mutating func skip(_ place: PlaceName) { passed.append(place) }

  // MARK: In a route

  /// Reads the answers that an earlier run has kept; `nil` when they belong to another synchronization, or are too
  /// old.
  ///
  /// The knowledge of places changes from attempt to attempt, so a new attempt asks all of them.
  init?(_ text: String, of synchronizationId: SynchronizationId, attempt: Int, now: Int64) {
    // In both directions: the clocks of two workers may differ.
    guard let kept = try? JSONText(Array(text.utf8), limits: .own).decoded(as: KeptAnswers.self),
      kept.synchronizationId == synchronizationId,
      (now - Self.lifetime...now + Self.lifetime).contains(kept.toldAt)
    else { return nil }
    self.init(of: synchronizationId, attempt: attempt)
    (transaction, statuses, toldAt) = (kept.transaction, kept.statuses, kept.toldAt)
    (areEarlier, earlierStatusesAt) = (missing != nil, statuses == nil ? nil : toldAt)
    if kept.attempt == attempt { (passed, isUnauthorized) = (kept.passed, kept.isUnauthorized) }
  }

  /// The answers for the next run; `nil` when there are none, or too many bytes of them.
  var text: String? {
    guard missing != nil || !passed.isEmpty else { return nil }
    guard let data = try? JSONEncoder().encode(self), data.count <= Self.greatestSize else { return nil }
    return String(decoding: data, as: UTF8.self)
  }
}

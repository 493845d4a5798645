import Domain

/// What a worker holds in hand, shared out among the publishers, by value.
///
/// For example, Apple does not answer for the app of one publisher. Its jobs take three quarters of the places; its
/// other jobs wait in the line. The quarter that is left is for everybody else.
///
/// A publisher may hold three times as many places as are free (a dynamic threshold, as switches share their memory),
/// and `concurrency` at most. So however many publishers are stuck at once, a place stays free for the next one. Jobs
/// in bulk hold a tenth of the places at most.
struct JobShares {
  /// What becomes of a job that asks for a place.
  enum Verdict: Equatable {
    case takes
    /// A place comes free in a moment.
    case waits
    /// Its publisher has all that it may have, and is slow.
    case goesAway
  }

  private struct Publisher {
    var count = 0
    /// The sum of the times at which its jobs took their places, for their mean age.
    var starts = Duration.zero
  }

  /// A publisher is quick while its jobs in hand are no older than this, in the mean.
  static let quickness = Duration.seconds(1)

  /// What one publisher may hold at most.
  private let concurrency: Int
  /// All places: alone, a publisher still gets `concurrency` of them.
  let places: Int
  /// The places for jobs in bulk.
  let bulkPlaces: Int
  private var held: [Int64: Publisher] = [:]
  /// How many places are taken.
  private(set) var count = 0
  private var bulk = 0

  /// - Parameter concurrency: the jobs that a worker runs at once, `worker.concurrency`.
  init(concurrency: Int) {
    self.concurrency = concurrency
    places = concurrency + max(1, concurrency / 3)
    bulkPlaces = max(1, concurrency / 10)
  }

  /// How many places are free.
  var free: Int { max(0, places - count) }

  /// Whether jobs in bulk may take another place.
  var hasBulkPlaces: Bool { bulk < bulkPlaces }

  /// The publishers that may have no more places if so many are free, in no order.
  func full(ifFree free: Int) -> [Int64] { held.filter { $0.value.count >= most(free) }.map(\.key) }

  /// Whether a job may take a place now.
  func mayTake(_ publisher: Int64, _ lane: JobLane) -> Bool {
    held[publisher, default: Publisher()].count < most(free) && (lane == .usual || hasBulkPlaces)
  }

  /// Decides about a job. It counts once ``hold(_:_:at:)`` is called.
  ///
  /// - Parameter now: the time of a clock that never goes back.
  func ask(_ publisher: Int64, _ lane: JobLane, at now: Duration) -> Verdict {
    if mayTake(publisher, lane) { return .takes }
    guard let own = held[publisher], own.count > 0, lane == .usual else { return .goesAway }
    return now - own.starts / own.count <= Self.quickness ? .waits : .goesAway
  }

  /// Takes a place.
  mutating func hold(_ publisher: Int64, _ lane: JobLane, at now: Duration) {
    held[publisher, default: Publisher()].count += 1
    held[publisher, default: Publisher()].starts += now
    count += 1
    if lane == .bulk { bulk += 1 }
  }

  /// Gives back a place that was taken at a time.
  mutating func end(_ publisher: Int64, _ lane: JobLane, takenAt start: Duration) {
    guard var own = held[publisher] else { return }
    own.count -= 1
    own.starts -= start
    held[publisher] = own.count > 0 ? own : nil
    count -= 1
    if lane == .bulk { bulk -= 1 }
  }

  /// The most places of one publisher while so many are free.
  private func most(_ free: Int) -> Int { min(concurrency, 3 * free) }
}

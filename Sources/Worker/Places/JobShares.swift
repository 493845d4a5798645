import Coordination
import Domain

/// What a worker holds in hand, shared out among the publishers, by value.
///
/// For example, Apple does not answer for the app of one publisher. Its jobs take three quarters of the places; its
/// other jobs wait in the line. The quarter that is left is for everybody else. Jobs in bulk hold a tenth of the
/// places at most, and share it in the same way (``SharedPlaces``).
struct JobShares {
  /// What becomes of a job that asks for a place.
  enum Verdict: Equatable {
    case takes
    /// A place comes free in a moment.
    case waits
    /// Its publisher has all that it may have, and is slow.
    case goesAway
  }

  /// Where a job comes from.
  enum Origin {
    case broker
    case line
  }

  /// A publisher is quick while its jobs in hand are no older than this, in the mean.
  static let quickness = Duration.seconds(1)

  /// The places for all jobs.
  private(set) var all: SharedPlaces
  /// Of these, the ones for jobs in bulk.
  private(set) var bulk: SharedPlaces
  /// Places that the line has in any case, for publishers that hold few: deliveries of others may take all places.
  private(set) var line: SharedPlaces
  /// For each publisher the sum of the times at which its jobs took their places, for their mean age.
  private var starts: [PublisherId: Duration] = [:]

  /// - Parameter concurrency: the jobs that a worker runs at once, `worker.concurrency`.
  init(concurrency: Int) {
    all = SharedPlaces(most: concurrency)
    bulk = SharedPlaces(most: concurrency / 10)
    line = SharedPlaces(most: concurrency / 4)
  }

  /// Whether a job may take a place now.
  func mayTake(_ publisher: PublisherId, _ lane: JobLane) -> Bool {
    all.allowance(publisher) > 0 && (lane == .usual || bulk.allowance(publisher) > 0)
  }

  /// Decides about a job. It counts once ``hold(_:_:_:at:)`` is called.
  ///
  /// - Parameter now: the time of a clock that never goes back.
  func ask(_ publisher: PublisherId, _ lane: JobLane, at now: Duration) -> Verdict {
    if mayTake(publisher, lane) { return .takes }
    guard let sum = starts[publisher], lane == .usual else { return .goesAway }
    return now - sum / all.held(by: publisher) <= Self.quickness ? .waits : .goesAway
  }

  /// How many jobs of each publisher the worker may take out of the line now.
  var allowances: LineAllowances {
    func left(_ publisher: PublisherId) -> LineAllowances.Left {
      let most = max(all.allowance(publisher), min(line.allowance(publisher), line.most - all.held(by: publisher)))
      return LineAllowances.Left(all: most, bulk: min(most, bulk.allowance(publisher)))
    }
    let most = max(all.allowanceOfOthers, line.allowanceOfOthers)
    let holders = Set(all.publishers + line.publishers)
    return LineAllowances(
      all: max(all.free, line.free), bulk: bulk.free,
      others: LineAllowances.Left(all: most, bulk: min(most, bulk.allowanceOfOthers)),
      publishers: Dictionary(uniqueKeysWithValues: holders.map { ($0, left($0)) }))
  }

  /// Takes a place.
  mutating func hold(_ publisher: PublisherId, _ lane: JobLane, _ origin: Origin = .broker, at now: Duration) {
    all.take(publisher)
    if lane == .bulk { bulk.take(publisher) }
    if origin == .line { line.take(publisher) }
    starts[publisher, default: .zero] += now
  }

  /// Gives back a place that was taken at a time.
  mutating func end(_ publisher: PublisherId, _ lane: JobLane, _ origin: Origin = .broker, takenAt start: Duration) {
    guard let sum = starts[publisher] else { return }
    all.giveBack(publisher)
    starts[publisher] = all.held(by: publisher) > 0 ? sum - start : nil
    if lane == .bulk { bulk.giveBack(publisher) }
    if origin == .line { line.giveBack(publisher) }
  }
}

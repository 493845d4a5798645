import Domain
import EventLoop

/// The places of a worker's jobs: a job takes one before it may call Apple.
@LoopActor
final class JobPlaces {
  /// A place that a job has.
  struct Place: Equatable {
    fileprivate let publisher: PublisherId
    fileprivate let lane: JobLane
    fileprivate let origin: JobShares.Origin
    fileprivate let start: Duration
  }

  /// Those that a free place suits alike.
  private struct Party: Hashable {
    let publisher: PublisherId
    let lane: JobLane
  }

  @LoopActor
  private struct Waiter {
    let number: Int
    let turn = LoopSignal()
  }

  private(set) var shares: JobShares
  private let clock: @LoopActor () -> Duration
  /// Of each party, in the order in which they came. A thousand jobs of one party may wait, and each end of a job asks
  /// for each party once, whether it may take the place.
  private var lines: [Party: [Waiter]] = [:]
  /// The places of those whose turn has come.
  private var given: [Int: Place] = [:]
  private var next = 0

  private let patience: Duration
  /// How many jobs wait.
  var waiting: Int { lines.values.reduce(0) { $0 + $1.count } }

  /// - Parameters:
  ///   - concurrency: the jobs that a worker runs at once.
  ///   - patience: a job waits no longer than this for a place. Meanwhile the publisher has become slow.
  ///   - clock: never goes back.
  init(concurrency: Int, patience: Duration = .seconds(1), clock: (@LoopActor () -> Duration)? = nil) {
    shares = JobShares(concurrency: concurrency)
    self.patience = patience
    let start = ContinuousClock.now
    self.clock = clock ?? { ContinuousClock.now - start }
  }

  /// Takes a place for a job, or waits a moment for one.
  ///
  /// - Returns: `nil` if its publisher, or bulk, has all places that it may have. The job belongs into the line.
  func take(_ publisher: PublisherId, _ lane: JobLane) async -> Place? {
    switch shares.ask(publisher, lane, at: clock()) {
    case .takes: return hold(publisher, lane, .broker)
    case .goesAway: return nil
    case .waits: break
    }
    let party = Party(publisher: publisher, lane: lane)
    let waiter = Waiter(number: next)
    next += 1
    lines[party, default: []].append(waiter)
    await waiter.turn.wait(atMost: patience)
    if let place = given.removeValue(forKey: waiter.number) { return place }
    if let place = lines[party]?.firstIndex(where: { $0.number == waiter.number }) { leave(party, place) }
    return nil
  }

  /// Takes a place for a job that has come out of the line with its call.
  func hold(_ publisher: PublisherId, _ lane: JobLane) -> Place { hold(publisher, lane, .line) }

  private func hold(_ publisher: PublisherId, _ lane: JobLane, _ origin: JobShares.Origin) -> Place {
    let place = Place(publisher: publisher, lane: lane, origin: origin, start: clock())
    shares.hold(publisher, lane, origin, at: place.start)
    return place
  }

  /// Gives a place back. It goes to the first that waits and may have it. Then the publisher that gave it back may have
  /// another one, too.
  func end(_ place: Place) {
    shares.end(place.publisher, place.lane, place.origin, takenAt: place.start)
    while let party = nextParty {
      let waiter = leave(party, 0)
      given[waiter.number] = hold(party.publisher, party.lane, .broker)
      waiter.turn.notify()
    }
  }

  /// The party of the first that waits and may have a place; `nil` if nobody may.
  private var nextParty: Party? {
    guard !lines.isEmpty else { return nil }
    var first: (number: Int, party: Party)?
    for (party, line) in lines where shares.mayTake(party.publisher, party.lane) {
      if let number = line.first?.number, number < first?.number ?? .max { first = (number, party) }
    }
    return first?.party
  }

  /// Takes a waiter out of its line.
  @discardableResult
  private func leave(_ party: Party, _ place: Int) -> Waiter {
    let waiter = lines[party, default: []].remove(at: place)
    if lines[party]?.isEmpty == true { lines[party] = nil }
    return waiter
  }
}

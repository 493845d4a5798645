import Domain
import EventLoop

/// The lanes of all endpoints of this process; see ``EndpointLane``.
@LoopActor
final class EndpointLanes {
  /// Names an endpoint.
  struct Name: Hashable {
    let publisher: PublisherId
    let endpoint: EndpointId
  }

  /// The permission to make one attempt; its holder must end or abort it.
  struct Pass {
    fileprivate let name: Name
    fileprivate let attempt: Int
    fileprivate let start: Duration
    /// How long the delivery was held for the endpoint's turn.
    let waited: Duration
  }

  /// The order to come back later.
  struct Parked {
    /// After how long.
    let time: Duration
    /// Whether the endpoint has no room; otherwise its publisher has none.
    let isOfEndpoint: Bool
    /// How long the delivery was held for the endpoint's turn, in vain.
    let waited: Duration
  }

  /// The answer to a delivery that asks for an attempt.
  enum Answer {
    case go(Pass)
    case park(Parked)
    /// The notifier stops.
    case handBack
  }

  @LoopActor
  private final class Entry {
    var lane = EndpointLane()
    let line = DeliveryLine()
  }

  /// The state that all endpoints of a publisher share.
  @LoopActor
  private final class Share {
    var value: PublisherPlaces
    let line = DeliveryLine()

    init(concurrency: Int) { value = PublisherPlaces(concurrency: concurrency) }
  }

  private var entries: [Name: Entry] = [:]
  private var shares: [PublisherId: Share] = [:]
  /// How many attempts are under way.
  private var underWay = 0
  private let concurrency: Int
  private let slowLimit: Int
  private let clock: @LoopActor () -> Duration
  private var slowCounted: (count: Int, until: Duration) = (0, .zero)
  private var cleanedAt: Duration = .zero

  /// How often the process looks for lanes to drop; a look at ten thousand lanes takes a millisecond.
  private static let cleaning: Duration = .seconds(60)

  /// - Parameters:
  ///   - concurrency: the deliveries that the process holds at a time. Publishers have shares of them. Slow endpoints
  ///     share half of them, beyond one delivery each.
  ///   - clock: a time that never goes back; `nil` is the machine's.
  init(concurrency: Int, clock: (@LoopActor () -> Duration)? = nil) {
    self.concurrency = concurrency
    slowLimit = max(1, concurrency / 2)
    let start = ContinuousClock.now
    self.clock = clock ?? { ContinuousClock.now - start }
  }

  /// How many endpoints have a lane.
  var count: Int { entries.count }

  /// Asks for an attempt, and waits a moment for it if its turn is near.
  ///
  /// - Parameter onWait: called before each wait.
  func enter(_ name: Name, limit: Int, onWait: @LoopActor () -> Void = {}) async -> Answer {
    clean()
    var entry = entries[name] ?? Entry()
    entries[name] = entry
    let share = shares[name.publisher] ?? Share(concurrency: concurrency)
    shares[name.publisher] = share
    let deadline = now + EndpointLane.patience
    let turn = LoopSignal()
    var (numberOfLane, numberOfShare): (Int?, Int?)
    var waited: Duration = .zero
    defer {
      if let numberOfLane { entry.line.leave(numberOfLane) }
      if let numberOfShare { leave(share, numberOfShare) }
    }
    while !Task.isCancelled {
      let others = underWay - share.value.count
      let before = share.line.ahead(of: numberOfShare)
      switch share.value.ask(now, others: others, ahead: before, hasWaited: now >= deadline) {
      case .go: break
      case .park(let time): return .park(Parked(time: time, isOfEndpoint: false, waited: waited))
      case .wait:
        numberOfShare = numberOfShare ?? share.line.join(turn)
        onWait()
        await turn.wait(atMost: max(.milliseconds(1), deadline - now))
        continue
      }
      if numberOfLane == nil {
        // The lane may have been dropped while this delivery waited for its publisher's turn.
        entry = entries[name] ?? entry
        entries[name] = entry
      }
      let start = now
      let (isCrowded, slow) = (slowCount >= slowLimit, entry.lane.slowPlaces(start))
      let (admission, attempt) = entry.lane.ask(
        start, limit: limit, ahead: entry.line.ahead(of: numberOfLane), hasWaited: start >= deadline,
        isCrowded: isCrowded)
      switch admission {
      case .go:
        share.value.begin(start)
        underWay += 1
        slowCounted.count += entry.lane.slowPlaces(start) - slow
        return .go(Pass(name: name, attempt: attempt, start: start, waited: waited))
      case .park(let time): return .park(Parked(time: time, isOfEndpoint: true, waited: waited))
      case .wait:
        numberOfLane = numberOfLane ?? entry.line.join(turn)
        // A delivery of another endpoint may take the turn.
        if let number = numberOfShare { leave(share, number) }
        numberOfShare = nil
        onWait()
        await turn.wait(atMost: max(.milliseconds(1), deadline - now))
        waited += now - start
      }
    }
    return .handBack
  }

  /// Notes the end of an attempt that was made.
  func end(_ pass: Pass, ranOutOfTime: Bool) {
    leave(pass, now)
    guard let entry = entries[pass.name] else { return }
    entry.lane.end(pass.attempt, now, ranOutOfTime: ranOutOfTime)
    // Two deliveries, since an answer may have raised the number of attempts at a time.
    entry.line.wake(2)
  }

  /// Notes that an attempt was not made after all.
  func abort(_ pass: Pass) {
    leave(pass, nil)
    guard let entry = entries[pass.name] else { return }
    entry.lane.abort(pass.attempt)
    entry.line.wake(1)
  }

  private func leave(_ pass: Pass, _ end: Duration?) {
    guard let share = shares[pass.name.publisher] else { return }
    share.value.end(begunAt: pass.start, end)
    underWay -= 1
    wake(share)
  }

  /// Leaves the line of a publisher, so that the deliveries behind come forward.
  private func leave(_ share: Share, _ number: Int) {
    share.line.leave(number)
    wake(share)
  }

  /// Wakes the deliveries that find room now.
  ///
  /// Deliveries of another publisher wait for its own attempts to end: it has some, or they would not wait.
  private func wake(_ share: Share) {
    guard share.line.count > 0 else { return }
    share.line.wake(share.value.limit(now, others: underWay - share.value.count) - share.value.count)
  }

  /// Gives a pass back because the rest of the fleet uses all attempts that the endpoint allows.
  ///
  /// - Returns: how long to stay away.
  func abortForOthers(_ pass: Pass, limit: Int) -> Duration {
    abort(pass)
    return entries[pass.name]?.lane.parkForOthers(now, limit: limit) ?? .seconds(1)
  }

  /// Drops the lanes of endpoints that have had no webhook for long: endpoints come and go, and the process stays.
  private func clean() {
    let now = now
    guard now - cleanedAt >= Self.cleaning else { return }
    cleanedAt = now
    entries = entries.filter { $0.value.line.count > 0 || !$0.value.lane.isOver(now) }
  }

  private var now: Duration { clock() }

  /// Counted ten times a second at most: there may be ten thousand endpoints.
  private var slowCount: Int {
    let now = now
    if now >= slowCounted.until {
      let count = entries.values.reduce(0) { $0 + $1.lane.slowPlaces(now) }
      slowCounted = (count, now + .milliseconds(100))
    }
    return slowCounted.count
  }
}

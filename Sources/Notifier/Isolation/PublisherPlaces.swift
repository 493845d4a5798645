import EventLoop

/// How many attempts one publisher has under way in this process, decided by value.
///
/// A publisher may have a part of the places that the others leave free (a dynamic threshold, as switches share their
/// memory). Alone, it may have most of the prefetch. However many publishers do their worst at once, a place stays free
/// for the next one. The part is large for a publisher whose attempts are quick: they delay nobody, and a detour
/// through the broker takes as long. It is small for any other publisher: a thousand endpoints that hang, or one slow
/// endpoint with a thousand webhooks, would otherwise fill the whole notifier.
///
/// A delivery that finds no room waits a moment if its turn is near; otherwise it goes away.
struct PublisherPlaces {
  /// A publisher is quick while its attempts take no longer than this: all of its places come free twice before the
  /// notifier sends a waiting delivery away.
  static let quickness: Duration = .milliseconds(200)
  /// If none has ended for so long, attempts that are older, and older than four times the usual, hang as far as
  /// anybody knows.
  static let silence: Duration = .milliseconds(400)
  /// How long attempts that hang are expected to take. Their age alone says too little: thousands of deliveries would
  /// come back after a second, all at once, and go away again.
  static let hanging: Duration = .seconds(5)

  /// The deliveries that the process holds at a time.
  let concurrency: Int
  /// How many attempts are under way.
  private(set) var count = 0
  /// The sum of their starts, for their mean age.
  private var starts: Duration = .zero
  /// How long the latest attempts took; `nil` before the first one has ended.
  private var usual: Duration?
  /// When an attempt ended last.
  private var lastEnd: Duration?
  private var parking = Parking()

  /// - Parameter concurrency: the deliveries that the process holds at a time.
  init(concurrency: Int) { self.concurrency = concurrency }

  /// The most attempts at a time.
  ///
  /// A quick publisher gets three quarters of the places that the others leave free. Any other publisher, and one whose
  /// pace is not known yet, gets half of that, and never more than a quarter of all places.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - others: how many attempts other publishers have under way.
  func limit(_ now: Duration, others: Int) -> Int {
    let left = max(0, concurrency - others)
    let isQuick = usual != nil && expected(now) <= Self.quickness
    return max(1, isQuick ? left * 3 / 4 : min(left / 2, concurrency / 4))
  }

  /// Decides whether an attempt may begin; it counts once ``begin(_:)`` is called.
  ///
  /// - Parameters:
  ///   - others: how many attempts other publishers have under way.
  ///   - ahead: how many deliveries wait for their turn before this one.
  ///   - hasWaited: whether this delivery has waited in vain.
  mutating func ask(_ now: Duration, others: Int, ahead: Int, hasWaited: Bool) -> EndpointLane.Admission {
    let limit = limit(now, others: others)
    if count + ahead < limit { return .go }
    let spacing = expected(now) / limit
    if !hasWaited, spacing * (ahead + 1) <= EndpointLane.patience { return .wait }
    return .park(parking.park(now, spacing))
  }

  /// Notes the start of an attempt.
  mutating func begin(_ now: Duration) {
    count += 1
    starts += now
  }

  /// Notes the end of an attempt, or, without a time, that it was not made after all.
  mutating func end(begunAt start: Duration, _ now: Duration?) {
    count -= 1
    starts -= start
    guard let now else { return }
    lastEnd = now
    let took = now - start
    // The mean moves slowly, as the attempts are of many endpoints.
    usual = usual.map { ($0 * 63 + took) / 64 } ?? took
  }

  /// How long an attempt takes: the mean of the latest ones, or more if those under way are older.
  private func expected(_ now: Duration) -> Duration {
    let age = count == 0 ? .zero : now - starts / count
    let expected = usual ?? .milliseconds(100)
    let isSilent = lastEnd.map { now - $0 > Self.silence } ?? true
    return isSilent && age > max(Self.silence, expected * 4) ? max(age, Self.hanging) : max(expected, age)
  }
}

import EventLoop

/// How many attempts one publisher has under way in this process, decided by value.
///
/// A publisher may have as much of the prefetch as leaves something for whoever comes next, counted from what the others
/// have left (a dynamic threshold, as switches share their memory): alone it is hardly bounded, and however many publishers
/// do their worst at once, a place stays free. How much that is depends on how soon its places come free again. Attempts
/// that are over in a moment hold nobody up, and to send a message around through the broker takes as long; a thousand
/// endpoints that hang, or one that takes its time for a thousand at once, would be all that a notifier does.
///
/// What finds no room waits a moment if its turn is near, and goes away otherwise.
struct PublisherShare {
  /// Attempts that take no longer make a publisher quick: all of its places come free twice before anybody is sent away who
  /// waits for one.
  static let quickness: Duration = .milliseconds(200)

  /// The deliveries that the process holds at a time.
  let concurrency: Int
  /// How many attempts are under way.
  private(set) var count = 0
  /// The sum of their starts, for their mean age.
  private var starts: Duration = .zero
  /// How long the attempts of late took; `nil` before the first has ended.
  private var usual: Duration?
  private var parking = Parking()

  /// - Parameter concurrency: the deliveries that the process holds at a time.
  init(concurrency: Int) { self.concurrency = concurrency }

  /// The most attempts at a time: three quarters of what the others leave for a publisher whose attempts are quick; for any
  /// other, or as long as it is not known, half of that, and never more than a quarter of all.
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
  ///   - ahead: how many wait for their turn before this one.
  ///   - hasWaited: whether this one has waited in vain.
  mutating func ask(_ now: Duration, others: Int, ahead: Int, hasWaited: Bool) -> Lane.Admission {
    let limit = limit(now, others: others)
    if count + ahead < limit { return .go }
    let spacing = expected(now) / limit
    if !hasWaited, spacing * (ahead + 1) <= Lane.patience { return .wait }
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
    let took = now - start
    // Over many: they are of many endpoints.
    usual = usual.map { ($0 * 63 + took) / 64 } ?? took
  }

  /// How long an attempt takes: as those before, or as long as those under way are out already, whichever is more.
  private func expected(_ now: Duration) -> Duration {
    max(usual ?? .milliseconds(100), count == 0 ? .zero : now - starts / count)
  }
}

/// How many attempts one publisher has under way in this process, decided by value.
///
/// However many endpoints a publisher has, and however many attempts each allows, it gets a part of the prefetch: else a
/// thousand endpoints that hang, or one that takes its time for a thousand at once, would be all that a notifier does. What
/// finds no room waits a moment if its turn is near, and goes away otherwise, each for a little longer than the one before.
struct PublisherShare {
  /// The most attempts at a time.
  let limit: Int

  /// How many attempts are under way.
  private(set) var count = 0
  /// The sum of their starts, for their mean age.
  private var starts: Duration = .zero
  /// How long the attempts of late took; `nil` before the first has ended.
  private var usual: Duration?
  /// Until when those that went away keep the publisher busy.
  private var plannedUntil: Duration = .zero

  /// - Parameter concurrency: the deliveries that the process holds at a time.
  init(concurrency: Int) { limit = max(1, concurrency / 4) }

  /// Decides whether an attempt may begin; it counts once ``begin(_:)`` is called.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - ahead: how many wait for their turn before this one.
  ///   - hasWaited: whether this one has waited in vain.
  mutating func ask(_ now: Duration, ahead: Int, hasWaited: Bool) -> Lane.Admission {
    if count + ahead < limit { return .go }
    let spacing = expected(now) / limit
    if !hasWaited, spacing * (ahead + 1) <= Lane.patience { return .wait }
    plannedUntil = min(max(plannedUntil, now) + spacing, now + Lane.longestPark)
    return .park(max(.seconds(1), plannedUntil - now))
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
    max(usual ?? .milliseconds(200), count == 0 ? .zero : now - starts / count)
  }
}

/// How often each of many keys does something: the generic cell rate algorithm, in bounded memory.
///
/// For example, a key with a pause of 100 ms and a burst of 30 s may do 300 things at once, and then ten a second.
struct KeyedPace<Key: Hashable> {
  /// So many keys are remembered. Further ones share one pace until others have been silent, or have none.
  static var most: Int { 10_000 }

  /// When each key will have used up no part of its rate, as time since the start. `nil` is the key that those share
  /// for whom there is no more room.
  private var used: [Key?: Duration] = [:]
  private var lastTidying = Duration.zero
  private let pause: Duration
  private let burst: Duration
  private let sharesTheRest: Bool

  /// How many keys are remembered.
  var count: Int { used.count }

  /// - Parameter sharesTheRest: whether the keys for whom there is no more room share one pace. Say false where another
  ///   pace limits them: then strangers cannot spend it for others.
  init(pause: Duration, burst: Duration, sharesTheRest: Bool = true) {
    (self.pause, self.burst, self.sharesTheRest) = (pause, burst, sharesTheRest)
  }

  /// How long a key waits until it may do one more thing; zero or less if it may now.
  ///
  /// - Parameter now: the time of a clock that is never set back.
  func wait(of key: Key, now: Duration) -> Duration {
    guard let end = used[key] ?? (used.count < Self.most ? nil : used[nil]) else { return .zero }
    return end + pause - now - burst
  }

  /// Counts what a key did.
  ///
  /// - Parameter units: 1 to a million.
  mutating func note(_ key: Key, _ units: Int = 1, now: Duration) {
    let key = known(key, now: now)
    guard key != nil || sharesTheRest else { return }
    used[key] = max(used[key] ?? now, now) + pause * units
  }

  /// Takes back one thing that a key did. What it does later is not made up for.
  mutating func giveBack(_ key: Key) {
    if let end = used[key] { used[key] = end - pause }
  }

  /// The key itself, or the shared one.
  private mutating func known(_ key: Key, now: Duration) -> Key? {
    guard used[key] == nil, used.count >= Self.most else { return key }
    // At most once a second: a stranger with many keys must not make each thing walk through all of them.
    if now - lastTidying >= .seconds(1) {
      lastTidying = now
      used = used.filter { $0.value > now }
    }
    return used.count < Self.most ? key : nil
  }
}

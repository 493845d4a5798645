/// How often each of many keys does something: the generic cell rate algorithm, in bounded memory.
///
/// For example, with a burst of 30 s, a key whose things take 100 ms each may do 300 of them at once, and then ten a
/// second.
struct KeyedPace<Key: Hashable> {
  /// So many keys are remembered. Further ones share one pace until others have been silent, or have none.
  static var most: Int { 10_000 }

  /// When each key will have used up no part of its rate, as time since the start. `nil` is the key that those share
  /// for whom there is no more room.
  private var used: [Key?: Duration] = [:]
  private var lastTidying = Duration.zero
  private let burst: Duration
  private let sharesTheRest: Bool

  /// How many keys are remembered.
  var count: Int { used.count }

  /// - Parameter sharesTheRest: whether the keys for whom there is no more room share one pace. Say false where another
  ///   pace limits them: then strangers cannot spend it for others.
  init(burst: Duration, sharesTheRest: Bool) { (self.burst, self.sharesTheRest) = (burst, sharesTheRest) }

  /// How long a key waits until it may do one more thing; zero or less if it may now.
  ///
  /// - Parameters:
  ///   - time: what the thing takes of the key's time.
  ///   - now: the time of a clock that is never set back.
  func wait(of key: Key, for time: Duration, now: Duration) -> Duration {
    guard let end = used[key] ?? (used.count < Self.most ? nil : used[nil]) else { return .zero }
    return end + time - now - burst
  }

  /// Counts what a key did.
  ///
  /// - Parameter time: what it takes of the key's time.
  mutating func note(_ key: Key, _ time: Duration, now: Duration) {
    let key = known(key, now: now)
    guard key != nil || sharesTheRest else { return }
    used[key] = max(used[key] ?? now, now) + time
  }

  /// Takes back what a key did. What it does later is not made up for.
  mutating func giveBack(_ key: Key, _ time: Duration) {
    if let end = used[key] { used[key] = end - time }
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
